package tenant

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store"
)

type listOptions struct {
	*cmdutil.Factory

	filter store.TenantFilter
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	o := &listOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List tenants by name",
		Example: `  petstorectl tenant list
  petstorectl tenant list --without-billing-ref
  petstorectl tenant list -o json | jq -r '.[] | select(.plan == "free") | .name'`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) },
	})
	cmd.Flags().BoolVar(&o.filter.WithoutBillingRef, "without-billing-ref", false, "only those without a billing reference")
	cmdutil.LimitFlag(cmd, &o.filter.Limit, cmdutil.DefaultLimit)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	filter := o.filter
	filter.Limit++
	tenants, err := db.Tenants.List(ctx, filter)
	if err != nil {
		return err
	}
	empty := "no tenants yet: petstorectl tenant create NAME --plan PLAN"
	if filter.WithoutBillingRef {
		empty = "every tenant has a billing reference"
	}
	return cmdutil.PrintLimited(o.Factory, View, tenants, o.filter.Limit, empty)
}
