package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type tenantCreateOptions struct {
	*factory

	name string
	plan string
	own  *plans.Quota
}

func newCmdTenantCreate(f *factory, runF func(context.Context, *tenantCreateOptions) error) *cobra.Command {
	if runF == nil {
		runF = runTenantCreate
	}
	o := &tenantCreateOptions{factory: f}
	var quota quotaFlags
	cmd := &cobra.Command{
		Use:   "create NAME --plan PLAN",
		Short: "Create a tenant",
		Long: `Create a tenant on a plan. Its name is 1 to 63 characters of a-z, 0-9 and -, and
does not begin with -.

The enterprise plan requires a quota: --per-minute and --per-day.`,
		Example: `  petstorectl tenant create acme --plan pro
  petstorectl tenant create umbrella --plan enterprise --per-minute 12345 --per-day 5000000`,
		Args: exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.name = args[0]
			if o.plan == "" {
				return missingFlags(cmd, "--plan")
			}
			if o.own, err = quota.resolve(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(),
	}
	cmd.Flags().StringVar(&o.plan, "plan", "", "the tenant's `PLAN`: free, pro, business or enterprise")
	addQuotaFlags(cmd, &quota)
	completeFlagFrom(cmd, "plan", f.planNames)
	return cmd
}

func runTenantCreate(ctx context.Context, o *tenantCreateOptions) error {
	return change[plans.Tenant]{
		about: about{tenant: o.name, plan: o.plan},
		do: func(ctx context.Context, db *store.DB, by audit.By) (plans.Tenant, error) {
			return db.Tenants.Create(ctx, by, store.NewTenant{Name: o.name, Plan: o.plan, Own: o.own}, o.now())
		},
		told: func(t plans.Tenant) string {
			return fmt.Sprintf("created tenant %s on plan %s: %s", t.Name, t.Plan, quotaText(t))
		},
		view: tenantView,
	}.run(ctx, o.factory)
}
