package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/audit"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pricing"
)

const assignHelp = `Assign a plan to a tenant, which raises or lowers its limits. It takes effect on
every server within 400 ms, or at the instant --from. The requests of the
current minute and day stay counted: after an upgrade more requests are allowed
at once, after a downgrade the limit may be used up.

With --until the assignment ends by itself. Then the tenant is back on what was
before, or on the plan --then. An assignment without --until ends those that are
temporary: a customer who buys during a trial is not downgraded when it ends.

The enterprise plan requires a quota for the tenant. The quota is dropped when
another plan is assigned. With --per-month the price includes so many requests
of a UTC month, and --overage admits more, which are billed apart. Without
--per-day the day then is limited by the month alone.

`

func newCmdAssign(f *cmdutil.Factory) *cobra.Command {
	var (
		plan  string
		quota cmdutil.QuotaFlags
		own   *plans.Quota
		from  cmdutil.When
		end   cmdutil.EndFlags
	)
	b := batch(f, "assigning plans")
	b.Check = func(*cobra.Command) (err error) {
		b.Many = "Move %d tenants to plan " + strings.ReplaceAll(plan, "%", "%%") + "?"
		if own, err = quota.All(); err != nil {
			return err
		}
		return end.Check()
	}
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, tenant string) (pricing.PlanChange, error) {
		return db.Timelines.Assign(ctx, by, pricing.NewAssignment{
			Tenant: tenant,
			Kind:   plans.Assigned,
			Plan:   plan,
			Own:    own,
			From:   beginning(f, from),
			Until:  end.Until(),
			Then:   end.Then,
		})
	}
	b.Explain = func(ctx context.Context, err error, tenant string) error {
		if errors.Is(err, plans.ErrTenantNotFound) && swapped(ctx, f, tenant, plan) {
			return cmdutil.NotFoundErrorf("no tenant %q: that is a plan, and the tenant comes first", tenant).
				WithHint(fmt.Sprintf("petstorectl plan assign %s %s", plan, tenant))
		}
		return explain(ctx, f, err, cmdutil.Subject{Tenant: tenant, Plan: plan})
	}
	cmd := b.Command(&cobra.Command{
		Use:   "assign {TENANT... | --stdin} PLAN",
		Short: "Assign a plan to a tenant, now or later, for good or for a time",
		Long: assignHelp + cmdutil.ItemsHelp + `

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan assign acme business
  petstorectl plan assign business --stdin --dry-run < customers.txt
  petstorectl plan assign acme business --from 2026-12-01 --until 2027-01-01 --then pro
  petstorectl plan assign acme enterprise --per-minute 12345 --per-day 5000000
  petstorectl plan assign acme enterprise --per-minute 2000 --per-month 9000000 --overage 20%`,
	}, cmdutil.PlanArg(f, &plan))
	quota.Add(cmd, " (enterprise plan)")
	cmdutil.WhenFlag(cmd, f, &from, "from", "begin at `WHEN` (default: now)")
	end.Add(cmd, f)
	return cmd
}

// swapped tells whether the arguments are swapped: the tenant is a plan, and the plan a tenant.
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
func batch(f *cmdutil.Factory, doing string) *cmdutil.Batch[pricing.PlanChange] {
	return &cmdutil.Batch[pricing.PlanChange]{
		Factory: f,
		Item:    cmdutil.TenantArg(f, nil),
		Noun:    "tenants",
		Doing:   doing,
		Find:    cmdutil.FindTenant,
		Lock:    cmdutil.LockTenants,
		Explain: func(ctx context.Context, err error, tenant string) error {
			return explain(ctx, f, err, cmdutil.Subject{Tenant: tenant})
		},
		Notice: func(c pricing.PlanChange) cmdutil.Notice { return notice(c, f.DryRun) },
		View:   func(time.Time) output.View[pricing.PlanChange] { return output.Map(ScheduleView, changed) },
	}
}

func newCmdBoost(f *cmdutil.Factory) *cobra.Command {
	var (
		quota       cmdutil.QuotaFlags
		from, until cmdutil.When
	)
	b := batch(f, "boosting tenants")
	b.Check = func(cmd *cobra.Command) error {
		switch {
		case !quota.Given():
			return cmdutil.UsageErrorf(
				"missing required flag: --per-minute, --per-day, --per-month or --overage",
			).WithHint(
				"see: " + cmd.CommandPath() + " --help",
			)
		case !until.IsSet():
			return cmdutil.UsageErrorf("missing required flag: --until").WithHint(
				"a boost without an end is a plan: petstorectl plan assign",
			)
		}
		return nil
	}
	b.Question = lowers
	b.Do = func(ctx context.Context, db *store.DB, by audit.By, tenant string) (pricing.PlanChange, error) {
		return db.Timelines.Assign(ctx, by, pricing.NewAssignment{
			Tenant: tenant, Kind: plans.Boost, Own: &quota.Quota, From: beginning(f, from), Until: until.Until(),
		})
	}
	cmd := b.Command(&cobra.Command{
		Use:   "boost {TENANT... | --stdin} --per-minute N --until 2d",
		Short: "Boost a tenant: give it other numbers for a time",
		Long: `Give a tenant other numbers for a time. Its plan stays the same, and its numbers
come back by themselves at the end. A number that is not given stays as before.
What a month has used stays used: a boost of --per-month until its end gives
another number once. A day that may have what the month admits keeps that.
A boost to less than before asks for confirmation; scripts need --yes.

` + cmdutil.ItemsHelp + `

` + cmdutil.WhenHelp,
		Example: `  petstorectl plan boost acme --per-minute 1000 --until 48h --reason "their launch"
  petstorectl plan boost acme --per-minute 1000 --per-day 50000 --from 2026-11-27 --until 2026-12-01
  petstorectl plan boost acme --per-month 500000 --until 2026-12-01 --reason "as a goodwill"`,
	})
	quota.Add(cmd, " (default: as before)")
	cmdutil.WhenFlag(cmd, f, &until, "until", "end at `WHEN`; a length counts from the beginning")
	cmdutil.WhenFlag(cmd, f, &from, "from", "begin at `WHEN` (default: now)")
	return cmd
}

// lowers asks about boosts that give a tenant less than it has.
func lowers(_ context.Context, _ *store.DB, _ []string, done []pricing.PlanChange) (q cmdutil.Question, _ error) {
	var lowered []string
	for _, c := range done {
		if c.Was == nil {
			continue // The tenant has these numbers already.
		}
		was, is := c.Was.Quota, c.At(c.Assignment.From).Quota
		if is.PerMinute < was.PerMinute || is.PerDay < was.PerDay || is.Month.Less(was.Month) {
			lowered = append(
				lowered,
				fmt.Sprintf("%s: %s, instead of %s", c.Tenant.Name, tenant.QuotaText(is), tenant.QuotaText(was)),
			)
			q.Text = "Boost to less than before?"
		}
	}
	q.Facts = cmdutil.Facts(lowered, func(fact string) string { return fact })
	return q, nil
}

// beginning returns when an assignment begins. Zero stands for now by the database's clock.
func beginning(f *cmdutil.Factory, from cmdutil.When) time.Time {
	if from.IsNow() {
		return time.Time{}
	}
	return from.After(f.Now())
}

// notice says what a change of a tenant's assignments did.
func notice(c pricing.PlanChange, dryRun bool) cmdutil.Notice {
	item := "tenant " + c.Tenant.Name
	if c.Unchanged {
		return cmdutil.Notice{Text: unchanged(c), Item: item, Unchanged: true}
	}
	n := cmdutil.Notice{Text: assigned(c), Item: item, More: append(consequences(c), following(c)...)}
	if c.Assignment.From.After(c.Now) && !dryRun {
		n.More = append(n.More, fmt.Sprintf("to take it back: petstorectl plan unschedule %d", c.Assignment.ID))
	}
	return n
}

// changed is the new assignment, as it is or will be in force.
func changed(c pricing.PlanChange) pricing.Coming {
	at := c.Now
	if c.Assignment.From.After(at) {
		at = c.Assignment.From
	}
	return pricing.Coming{Tenant: c.Tenant.Name, Period: *c.At(at), Until: c.Assignment.Until}
}

func unchanged(c pricing.PlanChange) string {
	if a := c.Assignment; a.From.After(c.Now) {
		return fmt.Sprintf("tenant %s is on plan %s from %s already, %s",
			c.Tenant.Name, a.Plan, output.Text(a.From), tenant.QuotaText(c.At(a.From).Quota))
	}
	return fmt.Sprintf(
		"tenant %s is already on plan %s, %s",
		c.Tenant.Name,
		c.Tenant.Plan,
		tenant.QuotaText(c.Tenant.Quota),
	)
}

// assigned says what begins when, and what follows.
func assigned(c pricing.PlanChange) string {
	a, is, was := c.Assignment, c.At(c.Assignment.From), c.Was
	later := a.From.After(c.Now)
	var text string
	switch {
	case a.Kind == plans.Boost && later:
		text = fmt.Sprintf(
			"scheduled a boost of tenant %s on plan %s from %s",
			c.Tenant.Name,
			is.Plan,
			output.Text(a.From),
		)
	case a.Kind == plans.Boost:
		text = fmt.Sprintf("boosted tenant %s on plan %s", c.Tenant.Name, is.Plan)
	case later:
		text = fmt.Sprintf("scheduled plan %s for tenant %s from %s", is.Plan, c.Tenant.Name, output.Text(a.From))
	case was.Plan != is.Plan:
		text = fmt.Sprintf("moved tenant %s from plan %s to %s", c.Tenant.Name, was.Plan, is.Plan)
	case was.Quota != is.Quota:
		text = fmt.Sprintf("changed the quota of tenant %s on plan %s", c.Tenant.Name, is.Plan)
	default:
		text = fmt.Sprintf("assigned plan %s to tenant %s anew", is.Plan, c.Tenant.Name)
	}
	text += ": " + tenant.QuotaText(is.Quota)
	if a.Temporary() {
		text += fmt.Sprintf(" until %s, then %s", output.Text(a.Until), periodText(c.At(a.Until)))
	}
	return text
}

// periodText is a plan and its numbers.
func periodText(p *plans.Period) string { return p.Plan + ": " + tenant.QuotaText(p.Quota) }

// maxFollowing is the number of following assignments that are named.
const maxFollowing = 3

// consequences names the scheduled assignments that the change removes, replaces or brings back.
func consequences(c pricing.PlanChange) (lines []string) {
	for _, r := range c.Removed {
		if again := c.At(r.From); again.AssignedFrom.Equal(r.From) && again.Assignment != c.Assignment.ID {
			lines = append(
				lines,
				fmt.Sprintf(
					"what is scheduled at %s becomes plan %s (%d in place of %d)",
					output.Text(r.From),
					periodText(again),
					again.Assignment,
					r.ID,
				),
			)
		} else if r.ID != c.Assignment.ID {
			lines = append(
				lines,
				fmt.Sprintf("plan %s no longer follows at %s (%d)", r.Plan, output.Text(r.From), r.ID),
			)
		}
	}
	for _, a := range c.Added {
		changed := slices.ContainsFunc(c.Removed, func(r plans.Assignment) bool { return r.From.Equal(a.From) })
		if !changed && a.ID != c.Assignment.ID && a.Ends != c.Assignment.ID {
			lines = append(lines, fmt.Sprintf("plan %s follows at %s again (%d)", a.Plan, output.Text(a.From), a.ID))
		}
	}
	return lines
}

// following names the scheduled assignments that follow a new lasting one, and how to remove them.
func following(c pricing.PlanChange) (lines []string) {
	a := c.Assignment
	for _, p := range c.Periods {
		if !a.Temporary() && p.From.After(a.From) && p.From.Equal(p.AssignedFrom) && p.Kind == plans.Assigned &&
			len(lines) < maxFollowing {
			lines = append(
				lines,
				fmt.Sprintf(
					"plan %s follows at %s: petstorectl plan unschedule %d",
					p.Plan,
					output.Text(p.From),
					p.Assignment,
				),
			)
		}
	}
	return lines
}

// explain returns the Error for an error about an assignment.
func explain(ctx context.Context, f *cmdutil.Factory, err error, s cmdutil.Subject) error {
	var conflict plans.ConflictError
	if errors.Is(err, plans.ErrQuota) {
		_, what, _ := strings.Cut(err.Error(), plans.ErrQuota.Error()+": ")
		return cmdutil.UsageErrorf(
			"%s",
			what,
		).WithHint("what is not given stays as before: give the other number too")
	}
	if !errors.As(err, &conflict) {
		return f.Explain(ctx, err, s)
	}
	with := conflict.With
	e := cmdutil.RefusedErrorf(
		"another change of tenant %s is scheduled at %s: plan %s (%s, ID %d)",
		s.Tenant,
		output.Text(with.From),
		with.Plan,
		with.Kind,
		with.ID,
	)
	if with.Kind == plans.End {
		return e.WithHint("end before it, or begin after it") // Without it, what is in force now would never end.
	}
	return e.WithHint(
		fmt.Sprintf("end before it, begin after it, or remove it first: petstorectl plan unschedule %d", with.ID),
	)
}
