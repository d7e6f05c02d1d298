package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
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
	return change[plans.Tenant]{
		about: about{tenant: o.name},
		question: func(ctx context.Context, db *store.DB) (string, error) {
			t, err := db.GetTenant(ctx, o.name)
			if err != nil || !t.SuspendedAt.IsZero() {
				return "", err
			}
			return fmt.Sprintf("Suspend tenant %s and refuse all its keys?", t.Name), nil
		},
		do: func(ctx context.Context, db *store.DB, by audit.By) (plans.Tenant, error) {
			return db.SuspendTenant(ctx, by, o.name, o.now())
		},
		told: func(t plans.Tenant) string { return "suspended tenant " + t.Name + ": its keys are refused" },
		view: tenantView,
	}.run(ctx, o.factory)
}
