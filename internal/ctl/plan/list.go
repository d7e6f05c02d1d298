package plan

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
)

type listOptions struct {
	*cmdutil.Factory
}

func newCmdList(f *cmdutil.Factory, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List plans, the smallest first",
		Example: `  petstorectl plan list`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	cmdutil.SetArgs(cmd)
	f.ReadFlags(cmd)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	list, err := db.Plans.List(ctx)
	if err != nil {
		return err
	}
	return cmdutil.PrintList(o.Factory, View, list)
}
