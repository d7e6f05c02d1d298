package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

func newCmdAssign(f *cmdutil.Factory) *cobra.Command {
	var (
		plan  string
		quota cmdutil.QuotaFlags
		own   *plans.Quota
		from  cmdutil.When
		end   cmdutil.EndFlags
	)
	b := batch(f, "assigning plans")
	b.Check = func(cmd *cobra.Command) (err error) {
		b.Many = "Move %d tenants to plan " + strings.ReplaceAll(plan, "%", "%%") + "?"
		if own, err = quota.Quota(cmd); err != nil {
			return err
		}
		return end.Check()
	}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, tenant string) (store.PlanChange, error) {
		return db.Timelines.Assign(ctx, by, store.NewAssignment{
			Tenant: tenant, Kind: plans.Assigned, Plan: plan, Own: own, From: beginning(f, from), Until: end.Until(), Then: end.Then,
		})
	}
	b.Explain = func(ctx context.Context, err error, tenant string) error {
		if errors.Is(err, plans.ErrTenantNotFound) && swapped(ctx, f, tenant, plan) {
			return &cmdutil.Error{
				Code:    cmdutil.ExitNotFound,
				Message: fmt.Sprintf("no tenant %q: that is a plan, and the tenant comes first", tenant),
				Hint:    fmt.Sprintf("petstorectl plan assign %s %s", plan, tenant),
			}
		}
		return explain(ctx, f, err, cmdutil.Subject{Tenant: tenant, Plan: plan})
	}
	cmd := b.Command(&cobra.Command{
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
	}, cmdutil.PlanArg(f, &plan))
	quota.Add(cmd)
	cmdutil.WhenFlag(cmd, f, &from, "from", "begin at `WHEN` (default: now)")
	end.Add(cmd, f)
	return cmd
}

// swapped tells whether what stands for a tenant is a plan, and the plan a tenant.
func swapped(ctx context.Context, f *cmdutil.Factory, tenant, plan string) bool {
	db, err := f.DB(ctx)
	if err != nil {
		return false
	}
	_, planErr := db.Plans.Get(ctx, tenant)
	_, tenantErr := db.Tenants.Get(ctx, plan)
	return planErr == nil && tenantErr == nil
}

// batch is a change of the assignments of tenants.
func batch(f *cmdutil.Factory, doing string) *cmdutil.Batch[store.PlanChange] {
	return &cmdutil.Batch[store.PlanChange]{
		Factory: f, Item: cmdutil.TenantArg(f, nil), Noun: "tenants", Doing: doing, Find: cmdutil.FindTenant, Lock: cmdutil.LockTenants,
		Explain: func(ctx context.Context, err error, tenant string) error {
			return explain(ctx, f, err, cmdutil.Subject{Tenant: tenant})
		},
		Notice: func(c store.PlanChange) cmdutil.Notice { return notice(c, f.DryRun) },
		View:   func(time.Time) output.View[store.PlanChange] { return output.Map(ScheduleView, changed) },
	}
}
