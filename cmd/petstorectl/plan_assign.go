package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type planAssignOptions struct {
	*factory

	tenant string
	plan   string
	own    *plans.Quota
}

func newCmdPlanAssign(f *factory, runF func(context.Context, *planAssignOptions) error) *cobra.Command {
	if runF == nil {
		runF = runPlanAssign
	}
	o := &planAssignOptions{factory: f}
	var quota quotaFlags
	cmd := &cobra.Command{
		Use:   "assign TENANT PLAN",
		Short: "Assign a plan to a tenant",
		Long: `Assign a plan to a tenant. It takes effect on every server within 100 ms. The
requests of the current minute and day stay counted: after an upgrade more
requests are allowed at once, after a downgrade the limit may be used up.

The enterprise plan requires a quota for the tenant. The quota is dropped when
another plan is assigned.`,
		Example: `  petstorectl plan assign acme business
  petstorectl plan assign acme enterprise --per-minute 12345 --per-day 5000000`,
		Args: exactArgs("TENANT", "PLAN"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.tenant, o.plan = args[0], args[1]
			if o.own, err = quota.resolve(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames, f.planNames),
	}
	addQuotaFlags(cmd, &quota)
	return cmd
}

func runPlanAssign(ctx context.Context, o *planAssignOptions) error {
	by, err := o.by()
	if err != nil {
		return err
	}
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	before, after, err := db.Tenants.AssignPlan(ctx, by, o.tenant, o.plan, o.own, o.now())
	if errors.Is(err, plans.ErrTenantNotFound) && o.swapped(ctx, db) {
		return &problem{
			code:    exitNotFound,
			message: fmt.Sprintf("no tenant %q: that is a plan, and the tenant comes first", o.tenant),
			hint:    fmt.Sprintf("petstorectl plan assign %s %s", o.plan, o.tenant),
		}
	}
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.tenant, plan: o.plan})
	}
	switch quota := quotaText(after); {
	case before == after:
		o.streams.say("tenant %s is already on plan %s, %s: nothing was changed", after.Name, after.Plan, quota)
	case before.Plan == after.Plan:
		o.changed("changed the quota of tenant %s on plan %s: %s", after.Name, after.Plan, quota)
	default:
		o.changed("moved tenant %s from plan %s to %s: %s", after.Name, before.Plan, after.Plan, quota)
	}
	return printChanged(o.factory, tenantView, after)
}

// swapped tells whether the tenant stands where the plan should, and the plan where the tenant should.
func (o *planAssignOptions) swapped(ctx context.Context, db *store.DB) bool {
	_, planErr := db.Plans.Get(ctx, o.tenant)
	_, tenantErr := db.Tenants.Get(ctx, o.plan)
	return planErr == nil && tenantErr == nil
}
