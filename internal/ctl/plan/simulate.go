package plan

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/usage"
)

func newCmdSimulate(f *cmdutil.Factory) *cobra.Command {
	var (
		numbers cmdutil.QuotaFlags
		period  cmdutil.PeriodFlags
		own     *plans.Quota
		days    cmdutil.Period
		cmd     *cobra.Command
	)
	l := &cmdutil.List[usage.ReplayedDay]{
		Factory: f,
		All:     true,
		View:    func() output.View[usage.ReplayedDay] { return ReplayView },
	}
	l.Check = func() (err error) {
		if own, err = numbers.Both(); err != nil {
			return err
		}
		days, err = period.Period(cmd)
		return err
	}
	l.Rows = func(ctx context.Context, db *store.DB, _ int) (iter.Seq2[usage.ReplayedDay, error], error) {
		plan, err := db.Plans.Get(ctx, l.Subject.Plan)
		if err != nil {
			return nil, err
		}
		quota, err := plan.Resolve(own)
		if err != nil {
			return nil, err
		}
		rows, err := store.Collect(
			db.Usage.Report(
				ctx,
				billing.UsageQuery{Tenant: l.Subject.Tenant, From: days.From, To: days.To, By: billing.ByHour},
			),
		)
		if err != nil {
			return nil, err
		}
		replayed := usage.Replay(hoursOf(rows), quota.PerMinute, quota.PerDay)
		f.Messagef("%s", summary(plan.Name, quota, days, replayed))
		return cmdutil.Items(replayed), nil
	}
	cmd = l.Command(&cobra.Command{
		Use:   "simulate TENANT PLAN",
		Short: "Replay a tenant's usage under another plan or quota",
		Long: `Replay the recorded usage of a tenant under another plan or quota, and show by
UTC day how many requests would have been refused. Nothing is changed.

Usage is recorded by hour. For the per-day limit the result is exact. For the
per-minute limit it is a lower bound, which assumes that the requests of an hour
are spread evenly; a tenant that sends bursts would be refused more.

Requests that were refused are replayed too. "plan edit --dry-run" replays the
usage of all tenants on a plan.`,
		Example: `  petstorectl plan simulate acme pro
  petstorectl plan simulate acme free --since 2026-10-15 --until 2026-11-15 -o csv
  petstorectl plan simulate acme enterprise --per-minute 2000 --per-day 250000`,
	}, cmdutil.TenantArg(f, &l.Subject.Tenant), cmdutil.PlanArg(f, &l.Subject.Plan))
	numbers.Add(cmd, " (enterprise plan)")
	period.Add(cmd, f)
	return cmd
}

// ReplayView shows a day of the simulation.
var ReplayView = output.View[usage.ReplayedDay]{
	{Name: "day", Value: func(d usage.ReplayedDay) any { return d.Date.Format(time.DateOnly) }, InList: true},
	{Name: "requests", Value: func(d usage.ReplayedDay) any { return d.Requests }, InList: true},
	{Name: "refused_then", Value: func(d usage.ReplayedDay) any { return d.Refused }, InList: true},
	{Name: "refused_at_least", Value: func(d usage.ReplayedDay) any { return d.ByDay + d.ByMinute }, InList: true},
	{Name: "by_day", Value: func(d usage.ReplayedDay) any { return d.ByDay }, InList: true},
	{
		Name:    "by_minute_at_least",
		Heading: "BY MINUTE",
		Value:   func(d usage.ReplayedDay) any { return d.ByMinute },
		InList:  true,
	},
}

func hoursOf(rows []billing.UsageRow) []usage.Hour {
	hours := make([]usage.Hour, len(rows))
	for i, r := range rows {
		// Requests of an earlier hour may have been refunded.
		hours[i] = usage.Hour{At: r.At, Requests: max(0, r.Admitted+r.Refused), Refused: r.Refused}
	}
	return hours
}

// summary is the sum of the days in a sentence.
func summary(plan string, q plans.Quota, period cmdutil.Period, days []usage.ReplayedDay) string {
	if len(days) == 0 {
		return "no requests recorded from " + period.Days()
	}
	var requests, then, refused int64
	for _, d := range days {
		requests, then, refused = requests+d.Requests, then+d.Refused, refused+d.ByDay+d.ByMinute
	}
	n := output.Thousands
	return fmt.Sprintf(
		"plan %s (%s per minute, %s per day), %s:\nat least %s of %s requests would have been refused; %s were refused",
		plan,
		n(q.PerMinute),
		n(q.PerDay),
		period.Days(),
		n(refused),
		n(requests),
		n(then),
	)
}

// namedReplay is the replay of a tenant, with its name.
type namedReplay struct {
	usage.ReplayedTenant
	name string
}

// AffectedView shows a tenant of which more requests would have been refused.
var AffectedView = output.View[namedReplay]{
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
	output.Column[impact]{
		Name:  "more_at_least",
		Value: func(i impact) any { sum, _ := i.replay.Sum(); return sum.More },
	},
	output.Column[impact]{
		Name:  "most_affected",
		Value: func(i impact) any { return output.ListJSON(AffectedView, i.most) },
	},
)

// printImpact replays the last days' usage of the tenants that move, and prints the change with
// what it would do.
func printImpact(ctx context.Context, f *cmdutil.Factory, db *store.DB, done pricing.EditedPlan) error {
	i := impact{plan: done.Plan, version: *done.Version, replay: usage.NewTenantsReplay(0, 0)}
	today := f.Now().Truncate(24 * time.Hour)
	i.period = cmdutil.Period{From: today.AddDate(0, 0, -impactDays), To: today.AddDate(0, 0, 1)}
	if !done.KeepExisting && len(done.Followers) > 0 {
		i.moving = int64(len(done.Followers))
		q := *i.version.Quota
		i.replay = usage.NewTenantsReplay(q.PerMinute, q.PerDay)
		days := billing.DaysQuery{
			From:    i.period.From,
			To:      i.period.To,
			Tenants: done.Followers,
			Quiet:   usage.QuietHour(q.PerMinute),
		}
		err := db.Usage.EachDay(ctx, days, i.replay.Add)
		if err != nil {
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
	return printBelow(p, AffectedView, AffectedView, i.most)
}
