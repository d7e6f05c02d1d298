package main

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/plans"
)

type tenantShowOptions struct {
	*factory

	name string
}

func newCmdTenantShow(f *factory, runF func(context.Context, *tenantShowOptions) error) *cobra.Command {
	if runF == nil {
		runF = runTenantShow
	}
	o := &tenantShowOptions{factory: f}
	return &cobra.Command{
		Use:     "show NAME",
		Aliases: []string{"get", "view"},
		Short:   "Show a tenant and its number of active keys",
		Example: `  petstorectl tenant show acme`,
		Args:    exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames),
	}
}

// tenantDetails is a tenant with what is counted when one is shown.
type tenantDetails struct {
	plans.Tenant
	activeKeys int64
}

var tenantDetailsView = append(
	over(tenantView, func(d tenantDetails) plans.Tenant { return d.Tenant }),
	column[tenantDetails]{name: "active_keys", value: func(d tenantDetails) any { return d.activeKeys }},
)

func runTenantShow(ctx context.Context, o *tenantShowOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	t, err := db.Tenants.Get(ctx, o.name)
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.name})
	}
	active, err := db.Keys.CountActive(ctx, t.ID, o.now())
	if err != nil {
		return err
	}
	return printOne(o.factory, tenantDetailsView, tenantDetails{t, int64(active)})
}
