package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type assignOptions struct {
	*cmdutil.Factory

	tenant string
	plan   string
	quota  *plans.Quota
	from   cmdutil.When
	end    cmdutil.EndFlags
}

func newCmdAssign(f *cmdutil.Factory) *cobra.Command {
	o := &assignOptions{Factory: f}
	var quota cmdutil.QuotaFlags
	cmd := f.ChangeCommand(&cobra.Command{
		Use:   "assign TENANT PLAN",
		Short: "Assign a plan to a tenant, now or later, for good or for a time",
		Long: `Assign a plan to a tenant. It takes effect on every server within 100 ms, or at
the instant --from. The requests of the current minute and day stay counted:
after an upgrade more requests are allowed at once, after a downgrade the limit
may be used up.

With --until the assignment ends by itself. Then the tenant is back on what was
before, or on the plan --then. An assignment without --until ends those that are
temporary: a customer who buys during a trial is not downgraded when it ends.

The enterprise plan requires a quota for the tenant. The quota is dropped when
another plan is assigned.

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan assign acme business
  petstorectl plan assign acme business --from 2026-12-01 --until 2027-01-01 --then pro
  petstorectl plan assign acme enterprise --per-minute 12345 --per-day 5000000`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.quota, err = quota.Quota(cmd); err == nil {
				err = o.end.Check()
			}
			if err != nil {
				return err
			}
			return runAssign(cmd.Context(), o)
		},
	}, cmdutil.TenantArg(f, &o.tenant), cmdutil.PlanArg(f, &o.plan))
	quota.Add(cmd)
	cmdutil.WhenFlag(cmd, f, &o.from, "from", "begin at `WHEN` (default: now)")
	o.end.Add(cmd, f)
	return cmd
}

func runAssign(ctx context.Context, o *assignOptions) error {
	actor, db, err := o.BeginChange(ctx)
	if err != nil {
		return err
	}
	done, err := db.Timelines.Assign(ctx, actor, store.NewAssignment{
		Tenant: o.tenant, Kind: plans.Assigned, Plan: o.plan, Own: o.quota, From: beginning(o.Factory, o.from), Until: o.end.Until(), Then: o.end.Then,
	})
	if errors.Is(err, plans.ErrTenantNotFound) && o.swapped(ctx, db) {
		return &cmdutil.Error{
			Code:    cmdutil.ExitNotFound,
			Message: fmt.Sprintf("no tenant %q: that is a plan, and the tenant comes first", o.tenant),
			Hint:    fmt.Sprintf("petstorectl plan assign %s %s", o.plan, o.tenant),
		}
	}
	if err != nil {
		return explain(ctx, o.Factory, err, cmdutil.Subject{Tenant: o.tenant, Plan: o.plan})
	}
	return report(o.Factory, done)
}

// swapped tells whether the arguments are a plan and a tenant, in this order.
func (o *assignOptions) swapped(ctx context.Context, db *store.DB) bool {
	_, planErr := db.Plans.Get(ctx, o.tenant)
	_, tenantErr := db.Tenants.Get(ctx, o.plan)
	return planErr == nil && tenantErr == nil
}
