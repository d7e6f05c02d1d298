package cmdutil

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/profiles"
	"petstore.example/internal/staff"
	"petstore.example/internal/store"
)

// ProfileFlag adds --profile.
func ProfileFlag(f *Factory, cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Profile, "profile", "", "`NAME` of the login to use (default petstore)")
	CompleteFlagFrom(cmd, "profile", func(_ context.Context, prefix string, _ int) (names []string, err error) {
		list, err := profiles.List()
		for _, p := range list {
			if strings.HasPrefix(p.Name, prefix) {
				names = append(names, p.Name)
			}
		}
		return names, err
	})
}

// StaffNames lists the names of the logins of persons, with their roles.
func StaffNames(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, prefix string, limit int) ([]string, error) {
		logins, err := db.Staff.WithPrefix(ctx, prefix, limit)
		return described(logins, func(l staff.Login) (string, []string) { return l.Name, l.RoleNames() }), err
	})
}
