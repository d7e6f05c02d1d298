package main

import (
	"context"

	"github.com/spf13/cobra"
)

type tenantListOptions struct {
	*factory

	limit int
}

func newCmdTenantList(f *factory, runF func(context.Context, *tenantListOptions) error) *cobra.Command {
	if runF == nil {
		runF = runTenantList
	}
	o := &tenantListOptions{factory: f}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List tenants by name",
		Example: `  petstorectl tenant list
  petstorectl tenant list -o json | jq -r '.[] | select(.plan == "free") | .name'`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(o.limit); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(),
	}
	addLimitFlag(cmd, &o.limit, standardLimit)
	return cmd
}

func runTenantList(ctx context.Context, o *tenantListOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	tenants, err := db.Tenants.List(ctx, o.limit+1)
	if err != nil {
		return err
	}
	return printLimited(o.factory, tenantView, tenants, o.limit, "no tenants yet: petstorectl tenant create NAME --plan PLAN")
}
