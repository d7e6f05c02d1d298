package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

type tenantSuspendOptions struct {
	*factory

	name string
}

func newCmdTenantSuspend(f *factory, runF func(context.Context, *tenantSuspendOptions) error) *cobra.Command {
	if runF == nil {
		runF = runTenantSuspend
	}
	o := &tenantSuspendOptions{factory: f}
	return &cobra.Command{
		Use:   "suspend NAME",
		Short: "Refuse all keys of a customer until it is resumed",
		Long: `Refuse all keys of a customer, on every server within a tenth of a second, until
it is resumed.

It asks first; where nobody can answer, give --yes.`,
		Example: `  petstorectl tenant suspend acme --reason "invoice 1042 unpaid" --yes`,
		Args:    exactArgs("a tenant's NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if err := o.needsYes("tenant suspend"); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames),
	}
}

func runTenantSuspend(ctx context.Context, o *tenantSuspendOptions) error {
	by, err := o.by()
	if err != nil {
		return err
	}
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	t, err := db.GetTenant(ctx, o.name)
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.name})
	}
	if t.SuspendedAt.IsZero() {
		if err := o.confirm(ctx, fmt.Sprintf("Suspend tenant %s and refuse all its keys?", t.Name)); err != nil {
			return err
		}
	}
	t, err = db.SuspendTenant(ctx, by, o.name, o.now())
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.name})
	}
	o.changed("suspended tenant %s: its keys are refused", t.Name)
	return printChanged(o.factory, tenantView, t)
}
