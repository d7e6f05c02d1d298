package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

type assignOptions struct {
	*cmdutil.Factory

	tenants cmdutil.ItemArgs
	plan    string
	quota   *plans.Quota
	from    cmdutil.When
	end     cmdutil.EndFlags
}

func newCmdAssign(f *cmdutil.Factory) *cobra.Command {
	o := &assignOptions{Factory: f}
	var quota cmdutil.QuotaFlags
	cmd := cmdutil.ItemsCommand(f, &cobra.Command{
		Use:   "assign {TENANT... | --stdin} PLAN",
		Short: "Assign a plan to a tenant, now or later, for good or for a time",
		Long: `Assign a plan to a tenant, which raises or lowers its limits. It takes effect on
every server within 400 ms, or at the instant --from. The requests of the
current minute and day stay counted: after an upgrade more requests are allowed
at once, after a downgrade the limit may be used up.

With --until the assignment ends by itself. Then the tenant is back on what was
before, or on the plan --then. An assignment without --until ends those that are
temporary: a customer who buys during a trial is not downgraded when it ends.

The enterprise plan requires a quota for the tenant. The quota is dropped when
another plan is assigned.

` + cmdutil.ItemsHelp + `

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan assign acme business
  petstorectl plan assign business --stdin --dry-run < customers.txt
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
	}, &o.tenants, cmdutil.TenantArg(f, nil), cmdutil.PlanArg(f, &o.plan))
	quota.Add(cmd)
	cmdutil.WhenFlag(cmd, f, &o.from, "from", "begin at `WHEN` (default: now)")
	o.end.Add(cmd, f)
	return cmd
}

func runAssign(ctx context.Context, o *assignOptions) error {
	b := batch(o.Factory, &o.tenants)
	b.Doing, b.Many = "assigning plans", "Move %d tenants to plan "+strings.ReplaceAll(o.plan, "%", "%%")+"?"
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, tenant string) (store.PlanChange, error) {
		return db.Timelines.Assign(ctx, by, store.NewAssignment{
			Tenant: tenant, Kind: plans.Assigned, Plan: o.plan, Own: o.quota, From: beginning(o.Factory, o.from), Until: o.end.Until(), Then: o.end.Then,
		})
	}
	b.Explain = func(ctx context.Context, err error, tenant string) error {
		if errors.Is(err, plans.ErrTenantNotFound) && o.swapped(ctx, tenant) {
			return &cmdutil.Error{
				Code:    cmdutil.ExitNotFound,
				Message: fmt.Sprintf("no tenant %q: that is a plan, and the tenant comes first", tenant),
				Hint:    fmt.Sprintf("petstorectl plan assign %s %s", o.plan, tenant),
			}
		}
		return explain(ctx, o.Factory, err, cmdutil.Subject{Tenant: tenant, Plan: o.plan})
	}
	return b.Run(ctx, o.Factory)
}

// swapped tells whether what stands for a tenant is a plan, and the plan a tenant.
func (o *assignOptions) swapped(ctx context.Context, tenant string) bool {
	db, err := o.DB(ctx)
	if err != nil {
		return false
	}
	_, planErr := db.Plans.Get(ctx, tenant)
	_, tenantErr := db.Tenants.Get(ctx, o.plan)
	return planErr == nil && tenantErr == nil
}

// batch is a change of the assignments of tenants.
func batch(f *cmdutil.Factory, tenants *cmdutil.ItemArgs) cmdutil.Batch[store.PlanChange] {
	return cmdutil.Batch[store.PlanChange]{
		Items: tenants, Noun: "tenants", Find: cmdutil.FindTenant, Lock: cmdutil.LockTenants,
		Notice: func(c store.PlanChange) cmdutil.Notice { return notice(c, f.DryRun) },
		View:   output.Map(ScheduleView, changed),
	}
}
