package retention

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
)

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	return f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List how long each kind is kept",
		Long: `List how long each kind is kept: keep, and the least that can be set. What is
older is removed by the servers, once a minute; last_run_at is when nothing was
left, and removed counts the rows. Hours of usage are summed into days when
their month is closed: waits_for is a month that is not.

Entries of the audit trail are removed by the owner only, with retention run.`,
		Example: `  petstorectl retention list
  petstorectl retention list -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), f) },
	})
}

func runList(ctx context.Context, f *cmdutil.Factory) error {
	db, err := f.DB(ctx)
	if err != nil {
		return err
	}
	list, err := db.Retention.List(ctx)
	if err != nil {
		return err
	}
	return cmdutil.PrintList(f, View, list)
}
