package cmdutil

import (
	"context"
	"slices"
	"strings"

	"petstore.example/internal/ctl/contexts"
	"petstore.example/internal/staff"
	"petstore.example/internal/store"
)

// ContextNames lists the names of the contexts, with their environments. It needs no database.
func ContextNames(f *Factory) Lister {
	return func(_ context.Context, prefix string, _ int) ([]string, error) {
		all, err := f.Contexts()
		if err != nil {
			return nil, err
		}
		file, err := all.Read()
		list := slices.DeleteFunc(file.List(), func(c contexts.Context) bool { return !strings.HasPrefix(c.Name, prefix) })
		return described(list, func(c contexts.Context) (string, []string) {
			return c.Name, []string{string(c.Environment)}
		}), err
	}
}

// StaffNames lists the names of the logins of persons, with their roles.
func StaffNames(f *Factory) Lister {
	return listFrom(f, func(ctx context.Context, db *store.DB, prefix string, limit int) ([]string, error) {
		logins, err := db.Staff.WithPrefix(ctx, prefix, limit)
		return described(logins, func(l staff.Login) (string, []string) { return l.Name, l.RoleNames() }), err
	})
}
