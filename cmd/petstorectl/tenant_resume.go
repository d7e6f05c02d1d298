package main

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type tenantResumeOptions struct {
	*factory

	name string
}

func newCmdTenantResume(f *factory, runF func(context.Context, *tenantResumeOptions) error) *cobra.Command {
	if runF == nil {
		runF = runTenantResume
	}
	o := &tenantResumeOptions{factory: f}
	return &cobra.Command{
		Use:     "resume NAME",
		Short:   "Resume a suspended tenant",
		Example: `  petstorectl tenant resume acme --reason "paid"`,
		Args:    exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames),
	}
}

func runTenantResume(ctx context.Context, o *tenantResumeOptions) error {
	return change[plans.Tenant]{
		about: about{tenant: o.name},
		do: func(ctx context.Context, db *store.DB, by audit.By) (plans.Tenant, error) {
			return db.Tenants.Resume(ctx, by, o.name, o.now())
		},
		told: func(t plans.Tenant) string { return "resumed tenant " + t.Name },
		view: tenantView,
	}.run(ctx, o.factory)
}
