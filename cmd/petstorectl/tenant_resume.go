package main

import (
	"context"

	"github.com/spf13/cobra"
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
		Short:   "Let a suspended customer call again",
		Example: `  petstorectl tenant resume acme --reason "paid"`,
		Args:    exactArgs("a tenant's NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames),
	}
}

func runTenantResume(ctx context.Context, o *tenantResumeOptions) error {
	by, err := o.by()
	if err != nil {
		return err
	}
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	t, err := db.ResumeTenant(ctx, by, o.name, o.now())
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.name})
	}
	o.changed("resumed tenant %s", t.Name)
	return printChanged(o.factory, tenantView, t)
}
