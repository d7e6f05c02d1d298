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
		Short: "Suspend a tenant: refuse all its keys",
		Long: `Suspend a tenant: every server refuses all its keys within 100 ms, until the
tenant is resumed.

The command asks for confirmation; scripts need --yes.`,
		Example: `  petstorectl tenant suspend acme --reason "invoice 1042 unpaid" --yes`,
		Args:    exactArgs("NAME"),
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
			t, err := db.Tenants.Get(ctx, o.name)
			if err != nil || !t.SuspendedAt.IsZero() {
				return "", err
			}
			return fmt.Sprintf("Suspend tenant %s and refuse all its keys?", t.Name), nil
		},
		do: func(ctx context.Context, db *store.DB, by audit.By) (plans.Tenant, error) {
			return db.Tenants.Suspend(ctx, by, o.name, o.now())
		},
		told: func(t plans.Tenant) string { return "suspended tenant " + t.Name + ": its keys are refused" },
		view: tenantView,
	}.run(ctx, o.factory)
}
