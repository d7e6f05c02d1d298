package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

type simulateOptions struct {
	*cmdutil.Factory

	tenant string
	plan   string
	quota  *plans.Quota
	period cmdutil.Period
	all    bool
	list   cmdutil.ListFlags
}

func newCmdSimulate(f *cmdutil.Factory) *cobra.Command {
	o := &simulateOptions{Factory: f}
	quota := cmdutil.QuotaFlags{}
	var period cmdutil.PeriodFlags
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "simulate {TENANT PLAN | --all [PLAN]}",
		Short: "Replay recorded usage under another plan or quota",
		Long: `Replay recorded usage under another plan or quota, and show how many requests
would have been refused: by UTC day, or with --all by tenant. --all lists the
tenants that would have had more requests refused. Nothing is changed.

Usage is recorded by hour. For the per-day limit the result is exact. For the
per-minute limit it is a lower bound, which assumes that the requests of an hour
are spread evenly; a tenant that sends bursts would be refused more.

Requests that were refused are replayed too.`,
		Example: `  petstorectl plan simulate acme pro
  petstorectl plan simulate acme free --since 2026-10-15 --until 2026-11-15 -o csv
  petstorectl plan simulate acme enterprise --per-minute 2000 --per-day 250000
  petstorectl plan simulate --all --per-minute 250 --per-day 8000 --month 2026-10`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := o.takeArgs(cmd); err != nil {
				return err
			}
			if o.quota, err = quota.Quota(cmd); err != nil {
				return err
			}
			if o.period, err = period.Period(cmd); err != nil {
				return err
			}
			if o.all {
				return runSimulateAll(cmd.Context(), o)
			}
			return runSimulate(cmd.Context(), o)
		},
	}, cmdutil.TenantArg(f, &o.tenant).Optional(), cmdutil.PlanArg(f, &o.plan).Optional())
	cmd.Flags().BoolVar(&o.all, "all", false, "replay the usage of all tenants")
	quota.Add(cmd)
	period.Add(cmd, f)
	o.list.Add(cmd, cmdutil.DefaultLimit)
	return cmd
}

// takeArgs checks the arguments: with --all there is no tenant.
func (o *simulateOptions) takeArgs(cmd *cobra.Command) error {
	usage := "usage: " + cmd.UseLine()
	if !o.all {
		switch {
		case o.tenant == "":
			return cmdutil.UsageErrorf("missing argument: TENANT, or --all").WithHint(usage)
		case o.plan == "":
			return cmdutil.UsageErrorf("missing argument: PLAN").WithHint(usage)
		case cmd.Flags().Changed("limit"):
			return cmdutil.UsageErrorf("--limit requires --all").WithHint(usage)
		}
		return nil
	}
	if o.plan != "" {
		return cmdutil.UsageErrorf("--all can't be used with a tenant").WithHint(usage)
	}
	o.tenant, o.plan = "", o.tenant
	if o.plan == "" && !cmd.Flags().Changed("per-minute") && !cmd.Flags().Changed("per-day") {
		return cmdutil.UsageErrorf("--all requires a plan, or --per-minute and --per-day").WithHint(usage)
	}
	return nil
}

// ReplayView shows a day of the simulation.
var ReplayView = output.View[usage.ReplayedDay]{
	{Name: "day", Value: func(d usage.ReplayedDay) any { return d.Date.Format(time.DateOnly) }, InList: true},
	{Name: "requests", Value: func(d usage.ReplayedDay) any { return d.Requests }, InList: true},
	{Name: "refused_then", Value: func(d usage.ReplayedDay) any { return d.Refused }, InList: true},
	{Name: "refused_at_least", Value: func(d usage.ReplayedDay) any { return d.ByDay + d.ByMinute }, InList: true},
	{Name: "by_day", Value: func(d usage.ReplayedDay) any { return d.ByDay }, InList: true},
	{Name: "by_minute_at_least", Heading: "BY MINUTE", Value: func(d usage.ReplayedDay) any { return d.ByMinute }, InList: true},
}

func runSimulate(ctx context.Context, o *simulateOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	quota, err := o.resolve(ctx, db)
	if err != nil {
		return err
	}
	rows, err := store.Collect(db.Usage.Report(ctx, store.UsageQuery{
		Tenant: o.tenant, From: o.period.From, To: o.period.To, By: store.ByHour,
	}))
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
	}
	days := usage.Replay(hoursOf(rows), quota.PerMinute, quota.PerDay)
	o.Messagef("%s", o.summary(quota, days))
	return cmdutil.PrintList(o.Factory, ReplayView, days)
}

// resolve returns the quota to replay under.
func (o *simulateOptions) resolve(ctx context.Context, db *store.DB) (plans.Quota, error) {
	if o.plan == "" {
		return *o.quota, nil
	}
	subject := cmdutil.Subject{Tenant: o.tenant, Plan: o.plan}
	plan, err := db.Plans.Get(ctx, o.plan)
	if err != nil {
		return plans.Quota{}, o.Explain(ctx, err, subject)
	}
	quota, err := plan.Resolve(o.quota)
	return quota, o.Explain(ctx, err, subject)
}

func hoursOf(rows []store.UsageRow) []usage.Hour {
	hours := make([]usage.Hour, len(rows))
	for i, r := range rows {
		// Requests of an earlier hour may have been refunded.
		hours[i] = usage.Hour{At: r.At, Requests: max(0, r.Admitted+r.Refused), Refused: r.Refused}
	}
	return hours
}

// summary is the sum of the days in a sentence.
func (o *simulateOptions) summary(q plans.Quota, days []usage.ReplayedDay) string {
	if len(days) == 0 {
		return "no requests recorded from " + o.period.Days()
	}
	var requests, then, refused int64
	for _, d := range days {
		requests, then, refused = requests+d.Requests, then+d.Refused, refused+d.ByDay+d.ByMinute
	}
	n := output.Thousands
	return fmt.Sprintf("%s, %s:\nat least %s of %s requests would have been refused; %s were refused",
		o.limits(q), o.period.Days(), n(refused), n(requests), n(then))
}

// limits are the limits to replay under, in words.
func (o *simulateOptions) limits(q plans.Quota) string {
	numbers := output.Thousands(q.PerMinute) + " per minute, " + output.Thousands(q.PerDay) + " per day"
	if o.plan == "" {
		return numbers
	}
	return "plan " + o.plan + " (" + numbers + ")"
}

// namedReplay is the replay of a tenant, with its name.
type namedReplay struct {
	usage.ReplayedTenant
	name string
}

// AllView shows a tenant of a simulation of all.
var AllView = output.View[namedReplay]{
	{Name: "tenant_id", Value: func(r namedReplay) any { return r.TenantID }},
	{Name: "tenant", Value: func(r namedReplay) any { return r.name }, InList: true, MinWidth: output.TextWidth},
	{Name: "requests", Value: func(r namedReplay) any { return r.Requests }, InList: true},
	{Name: "refused_then", Value: func(r namedReplay) any { return r.Refused }, InList: true},
	{Name: "refused_at_least", Value: func(r namedReplay) any { return r.ByDay + r.ByMinute }, InList: true},
	{Name: "by_day", Value: func(r namedReplay) any { return r.ByDay }},
	{Name: "by_minute_at_least", Value: func(r namedReplay) any { return r.ByMinute }},
	{Name: "more_at_least", Heading: "MORE", Value: func(r namedReplay) any { return r.More }, InList: true},
	{Name: "days_with_more", Heading: "ON DAYS", Value: func(r namedReplay) any { return r.DaysMore }, InList: true},
}

func runSimulateAll(ctx context.Context, o *simulateOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	quota, err := o.resolve(ctx, db)
	if err != nil {
		return err
	}
	replay, err := replayTenants(ctx, db, o.period, quota, nil)
	if err != nil {
		return err
	}
	affected := replay.Affected()
	o.Messagef("%s, %s:\n%s", o.limits(quota), o.period.Days(), replayText(replay, affected))
	if rows := o.list.Query(o.Factory); rows > 0 {
		affected = affected[:min(len(affected), rows)]
	}
	rows, err := nameReplays(ctx, db, affected)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return cmdutil.PrintList(o.Factory, AllView, rows)
	}
	return cmdutil.PrintStream(o.Factory, AllView, cmdutil.Items(rows), &o.list, nil, "")
}

// replayTenants replays what is recorded of these tenants, or of all for nil.
func replayTenants(ctx context.Context, db *store.DB, p cmdutil.Period, q plans.Quota, tenants []int64) (*usage.TenantsReplay, error) {
	replay := usage.NewTenantsReplay(q.PerMinute, q.PerDay)
	return replay, db.Usage.EachDay(ctx, store.DaysQuery{From: p.From, To: p.To, Tenants: tenants, Quiet: usage.QuietHour(q.PerMinute)}, replay.Add)
}

func nameReplays(ctx context.Context, db *store.DB, list []usage.ReplayedTenant) ([]namedReplay, error) {
	ids := make([]int64, len(list))
	for i, r := range list {
		ids[i] = r.TenantID
	}
	names, err := db.Tenants.NamesOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	named := make([]namedReplay, len(list))
	for i, r := range list {
		named[i] = namedReplay{r, names[r.TenantID]}
	}
	return named, nil
}

// replayText is the sum of a replay in words.
func replayText(r *usage.TenantsReplay, affected []usage.ReplayedTenant) string {
	sum, tenants := r.Sum()
	if tenants == 0 {
		return "no requests are recorded"
	}
	n := output.Thousands
	text := fmt.Sprintf("at least %s of %s requests of %s would have been refused; %s were refused",
		n(sum.ByDay+sum.ByMinute), n(sum.Requests), countTenants(tenants), n(sum.Refused))
	if len(affected) == 0 {
		return text + "\nno tenant would have been refused more than it was"
	}
	return text + fmt.Sprintf("\n%s would have been refused more than %s: at least %s requests in all",
		countTenants(int64(len(affected))), verb(int64(len(affected)), "it was", "they were"), n(sum.More))
}

// countTenants is how many tenants in words.
func countTenants(n int64) string {
	switch n {
	case 0:
		return "no tenants"
	case 1:
		return "1 tenant"
	}
	return output.Thousands(n) + " tenants"
}

const (
	// impactDays are the days before today whose usage is replayed, with that of today.
	impactDays = 30
	// impactTenants is how many tenants are named.
	impactTenants = 10
)

// impact is what a new version would do, by the usage of the last days.
type impact struct {
	plan    plans.Plan
	version plans.Version
	moving  int64
	period  cmdutil.Period
	replay  *usage.TenantsReplay
	// affected are all tenants that would have had more requests refused, most the first of them.
	affected []usage.ReplayedTenant
	most     []namedReplay
}

// ImpactView shows what an edit would do.
var ImpactView = append(
	output.Map(View, func(i impact) plans.Plan { return i.plan }),
	output.Column[impact]{Name: "new_version", Value: func(i impact) any { return int64(i.version.Number) }},
	output.Column[impact]{Name: "new_from", Value: func(i impact) any { return i.version.From }},
	output.Column[impact]{Name: "new_per_minute", Value: func(i impact) any { return i.version.Quota.PerMinute }},
	output.Column[impact]{Name: "new_per_day", Value: func(i impact) any { return i.version.Quota.PerDay }},
	output.Column[impact]{Name: "tenants_moving", Value: func(i impact) any { return i.moving }},
	output.Column[impact]{Name: "tenants_refused_more", Value: func(i impact) any { return int64(len(i.affected)) }},
	output.Column[impact]{Name: "more_at_least", Value: func(i impact) any { sum, _ := i.replay.Sum(); return sum.More }},
	output.Column[impact]{Name: "most_affected", Value: func(i impact) any { return output.ListJSON(AllView, i.most) }},
)

// printImpact replays the last days' usage of the tenants that move, and prints the change with what it would do.
func printImpact(ctx context.Context, f *cmdutil.Factory, db *store.DB, done store.EditedPlan) error {
	i := impact{plan: done.Plan, version: *done.Version, replay: usage.NewTenantsReplay(0, 0)}
	today := f.Now().Truncate(24 * time.Hour)
	i.period = cmdutil.Period{From: today.AddDate(0, 0, -impactDays), To: today.AddDate(0, 0, 1)}
	if !done.KeepExisting && len(done.Followers) > 0 {
		var err error
		i.moving = int64(len(done.Followers))
		if i.replay, err = replayTenants(ctx, db, i.period, *i.version.Quota, done.Followers); err != nil {
			return err
		}
		i.affected = i.replay.Affected()
		if i.most, err = nameReplays(ctx, db, i.affected[:min(len(i.affected), impactTenants)]); err != nil {
			return err
		}
		f.Messagef("by the usage of %s:\n%s", i.period.Days(), replayText(i.replay, i.affected))
	}
	p := f.Printer()
	if p.Whole() {
		return output.Item(p, ImpactView, i)
	}
	if p.Format != "" && len(i.most) == 0 {
		return nil
	}
	return printBelow(p, AllView, AllView, i.most)
}
