package plan

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/plans"
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
	v := View
	if f.Printer().Format == "table" {
		// These are rare.
		if slices.ContainsFunc(list, func(p plans.Plan) bool { return p.From.After(f.Now()) }) {
			v = v.Show("from")
		}
		if slices.ContainsFunc(list, func(p plans.Plan) bool { return !p.RetiresAt.IsZero() }) {
			v = v.Show("retires_at")
		}
	}
	return cmdutil.PrintList(f, v, list)
}
