package retention

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store"
)

type setOptions struct {
	*cmdutil.Factory

	kind, keep string
}

func newCmdSet(f *cmdutil.Factory) *cobra.Command {
	o := &setOptions{Factory: f}
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "set KIND LENGTH",
		Short: "Set how long a kind is kept: what is older is removed",
		Long: `Set how long a kind is kept, in days or hours such as 90d. If it is shorter than
before, what is older by then is removed within a minute, and nothing brings it
back. Only the owner of the tables may.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl retention set bans 730d --reason "contract 2027"
  petstorectl retention set failed_requests 12h --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keep, err := cmdutil.ParseDuration(o.keep)
			if err != nil {
				return cmdutil.UsageErrorf("%v", err)
			}
			if !slices.Contains(kinds, o.kind) {
				return explain(store.ErrNoRetention, o.kind)
			}
			return runSet(cmd.Context(), o, keep)
		},
	}, cmdutil.Arg{Name: "KIND", Value: &o.kind, Complete: completeKinds}, cmdutil.Arg{Name: "LENGTH", Value: &o.keep})
	f.YesFlag(cmd)
	return cmd
}

func completeKinds(_ context.Context, prefix string, _ int) (found []string, err error) {
	for _, k := range kinds {
		if strings.HasPrefix(k, prefix) {
			found = append(found, k)
		}
	}
	return found, nil
}

func runSet(ctx context.Context, o *setOptions, keep time.Duration) error {
	err := cmdutil.Change[store.RetentionRule]{
		Question: func(ctx context.Context, db *store.DB) (string, error) {
			rules, err := db.Retention.List(ctx)
			if err != nil {
				return "", err
			}
			tooShort := func(r store.RetentionRule) bool { return r.Kind == o.kind && keep < r.Least }
			if slices.ContainsFunc(rules, tooShort) {
				return "", store.ErrRetentionTooShort
			}
			return fmt.Sprintf("Keep %s for %s, and remove what is older?", o.kind, length(keep)), nil
		},
		Do: func(ctx context.Context, db *store.DB, by audit.By) (store.RetentionRule, error) {
			return db.Retention.Set(ctx, by, o.kind, keep)
		},
		Notice: func(r store.RetentionRule) string { return fmt.Sprintf("%s is kept for %s", r.Kind, length(r.Keep)) },
		View:   View,
	}.Run(ctx, o.Factory)
	return explain(err, o.kind)
}
