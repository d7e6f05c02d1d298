package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type assignOptions struct {
	*cmdutil.Factory

	tenant string
	plan   string
	quota  *plans.Quota
}

func newCmdAssign(f *cmdutil.Factory) *cobra.Command {
	o := &assignOptions{Factory: f}
	var quota cmdutil.QuotaFlags
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "assign TENANT PLAN",
		Short: "Assign a plan to a tenant",
		Long: `Assign a plan to a tenant. It takes effect on every server within 100 ms. The
requests of the current minute and day stay counted: after an upgrade more
requests are allowed at once, after a downgrade the limit may be used up.

The enterprise plan requires a quota for the tenant. The quota is dropped when
another plan is assigned.`,
		Example: `  petstorectl plan assign acme business
  petstorectl plan assign acme enterprise --per-minute 12345 --per-day 5000000`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.quota, err = quota.Quota(cmd); err != nil {
				return err
			}
			return runAssign(cmd.Context(), o)
		},
	}, cmdutil.TenantArg(f, &o.tenant), cmdutil.PlanArg(f, &o.plan))
	quota.Add(cmd)
	return cmd
}

func runAssign(ctx context.Context, o *assignOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	before, after, err := db.Tenants.AssignPlan(ctx, actor, o.tenant, o.plan, o.quota, time.Time{})
	if errors.Is(err, plans.ErrTenantNotFound) && o.swapped(ctx, db) {
		return &cmdutil.Error{
			Code:    cmdutil.ExitNotFound,
			Message: fmt.Sprintf("no tenant %q: that is a plan, and the tenant comes first", o.tenant),
			Hint:    fmt.Sprintf("petstorectl plan assign %s %s", o.plan, o.tenant),
		}
	}
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant, Plan: o.plan})
	}
	switch quota := tenant.QuotaText(after.Quota); {
	case before == after:
		o.Messagef("tenant %s is already on plan %s, %s: nothing was changed", after.Name, after.Plan, quota)
	case before.Plan == after.Plan:
		o.Changedf("changed the quota of tenant %s on plan %s: %s", after.Name, after.Plan, quota)
	default:
		o.Changedf("moved tenant %s from plan %s to %s: %s", after.Name, before.Plan, after.Plan, quota)
	}
	return cmdutil.PrintChanged(o.Factory, tenant.View, after)
}

// swapped tells whether the arguments are a plan and a tenant, in this order.
func (o *assignOptions) swapped(ctx context.Context, db *store.DB) bool {
	_, planErr := db.Plans.Get(ctx, o.tenant)
	_, tenantErr := db.Tenants.Get(ctx, o.plan)
	return planErr == nil && tenantErr == nil
}
