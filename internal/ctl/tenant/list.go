package tenant

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
)

type listOptions struct {
	*cmdutil.Factory

	limit int
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List tenants by name",
		Example: `  petstorectl tenant list
  petstorectl tenant list -o json | jq -r '.[] | select(.plan == "free") | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) },
	})
	cmdutil.LimitFlag(cmd, &o.limit, cmdutil.DefaultLimit)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	tenants, err := db.Tenants.List(ctx, o.limit+1)
	if err != nil {
		return err
	}
	return cmdutil.PrintLimited(o.Factory, View, tenants, o.limit, "no tenants yet: petstorectl tenant create NAME --plan PLAN")
}
