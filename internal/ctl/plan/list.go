package plan

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
)

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	return f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List plans, the smallest first",
		Example: `  petstorectl plan list`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), f) },
	})
}

func runList(ctx context.Context, f *cmdutil.Factory) error {
	db, err := f.DB(ctx)
	if err != nil {
		return err
	}
	list, err := db.Plans.List(ctx)
	if err != nil {
		return err
	}
	return cmdutil.PrintList(f, View, list)
}
