package plan

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/usage"
)

// simulation replays the usage of days under the numbers of a plan, or own ones.
type simulation struct {
	f    *cmdutil.Factory
	own  *plans.Quota
	days cmdutil.Period
	// monthly is set if the numbers have a month.
	monthly bool
}

func (s *simulation) rows(ctx context.Context, db *store.DB, of cmdutil.Subject) ([]usage.ReplayedDay, error) {
	plan, err := db.Plans.Get(ctx, of.Plan)
	if err != nil {
		return nil, err
	}
	quota, err := plan.Resolve(s.own)
	if err != nil {
		return nil, err
	}
	from := s.days.From
	if s.monthly = quota.Month.Kind == plans.SomeMonth; s.monthly {
		from = from.AddDate(0, 0, 1-from.Day()) // The month counts from its beginning.
	}
	rows, err := store.Collect(db.Usage.Report(ctx, billing.UsageQuery{
		Tenant: of.Tenant, From: from, To: s.days.To, By: billing.ByHour,
	}))
	if err != nil {
		return nil, err
	}
	all := usage.Replay(hoursOf(rows), quota)
	replayed := slices.DeleteFunc(slices.Clone(all), func(d usage.ReplayedDay) bool {
		return d.Date.Before(s.days.From)
	})
	text := []string{summary(plan.Name, quota, s.days, replayed)}
	text = append(text, monthsText(quota.Month, all, s.days.To, s.f.Now())...)
	s.f.Messagef("%s", strings.Join(text, "\n"))
	return replayed, nil
}

func (s *simulation) table() output.View[usage.ReplayedDay] {
	if s.monthly {
		return ReplayView.Show("by_month", "overage_at_most").Hide("by_day", "by_minute_at_least")
	}
	return ReplayView
}

func newCmdSimulate(f *cmdutil.Factory) *cobra.Command {
	var (
		numbers cmdutil.QuotaFlags
		period  cmdutil.PeriodFlags
		cmd     *cobra.Command
	)
	s := &simulation{f: f}
	l := &cmdutil.List[usage.ReplayedDay]{
		Factory: f,
		All:     true,
		View:    func() output.View[usage.ReplayedDay] { return ReplayView },
		Table:   s.table,
	}
	l.Check = func() (err error) {
		if s.own, err = numbers.All(); err != nil {
			return err
		}
		s.days, err = period.Period(cmd)
		return err
	}
	l.Rows = func(ctx context.Context, db *store.DB, _ int) (iter.Seq2[usage.ReplayedDay, error], error) {
		days, err := s.rows(ctx, db, l.Subject)
		return cmdutil.Items(days), err
	}
	cmd = l.Command(&cobra.Command{
		Use:   "simulate TENANT PLAN",
		Short: "Replay a tenant's usage under another plan or quota",
		Long: `Replay the recorded usage of a tenant under another plan or quota, and show by
UTC day how many requests would have been refused. Nothing is changed.

Usage is recorded by hour. For the per-day limit the result is exact. For the
per-minute limit it is a lower bound, which assumes that the requests of an hour
are spread evenly; a tenant that sends bursts would be refused more.

If the quota has a number per month, each calendar month is replayed from its
first day on, and the message says how much of it would have been used, billed
as overage, and refused. Overage is an upper bound.

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
	{Name: "refused_at_least", Value: func(d usage.ReplayedDay) any { return d.Least() }, InList: true},
	{Name: "by_day", Value: func(d usage.ReplayedDay) any { return d.ByDay }, InList: true},
	{
		Name:    "by_minute_at_least",
		Heading: "BY MINUTE",
		Value:   func(d usage.ReplayedDay) any { return d.ByMinute },
		InList:  true,
	},
	{Name: "by_month", Value: func(d usage.ReplayedDay) any { return ifMonthly(d, d.ByMonth) }},
	{Name: "overage_at_most", Heading: "OVERAGE", Value: func(d usage.ReplayedDay) any {
		return ifMonthly(d, d.Overage)
	}},
}

func ifMonthly(d usage.ReplayedDay, n int64) *int64 {
	if !d.Monthly {
		return nil
	}
	return &n
}

// monthsText has a line for each calendar month: how much of it would have been used. A month whose
// end is not replayed is marked.
func monthsText(m plans.Month, days []usage.ReplayedDay, to, now time.Time) (lines []string) {
	n := output.Thousands
	for i := 0; i < len(days) && m.Kind == plans.SomeMonth; {
		begins := days[i].Date.AddDate(0, 0, 1-days[i].Date.Day())
		ends := begins.AddDate(0, 1, 0)
		var used, refused, overage int64
		for ; i < len(days) && days[i].Date.Before(ends); i++ {
			used += days[i].Requests - days[i].Least()
			refused, overage = refused+days[i].ByMonth, overage+days[i].Overage
		}
		name := begins.Format("2006-01")
		switch {
		case to.Before(ends) && to.Before(now):
			name += " until " + to.Format(time.DateOnly)
		case ends.After(now):
			name += " so far"
		}
		lines = append(lines, fmt.Sprintf("%s: %s of %s included requests, at most %s overage, %s refused by the month",
			name, n(used-overage), n(m.Included), n(overage), n(refused)))
	}
	return lines
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
		requests, then, refused = requests+d.Requests, then+d.Refused, refused+d.Least()
	}
	n := output.Thousands
	return fmt.Sprintf(
		"plan %s (%s), %s:\nat least %s of %s requests would have been refused; %s were refused",
		plan,
		strings.Replace(tenant.QuotaText(q), " requests", "", 1),
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

// AffectedView shows a tenant with more refused requests.
var AffectedView = output.View[namedReplay]{
	{Name: "tenant_id", Value: func(r namedReplay) any { return r.TenantID }},
	{Name: "tenant", Value: func(r namedReplay) any { return r.name }, InList: true, MinWidth: output.TextWidth},
	{Name: "requests", Value: func(r namedReplay) any { return r.Requests }, InList: true},
	{Name: "refused_then", Value: func(r namedReplay) any { return r.Refused }, InList: true},
	{Name: "refused_at_least", Value: func(r namedReplay) any { return r.Least() }, InList: true},
	{Name: "by_day", Value: func(r namedReplay) any { return r.ByDay }},
	{Name: "by_minute_at_least", Value: func(r namedReplay) any { return r.ByMinute }},
	{Name: "more_at_least", Heading: "MORE", Value: func(r namedReplay) any { return r.More }, InList: true},
	{Name: "days_with_more", Heading: "ON DAYS", Value: func(r namedReplay) any { return r.DaysMore }, InList: true},
	{Name: "by_month", Value: func(r namedReplay) any { return r.ByMonth }},
	{Name: "overage_at_most", Heading: "OVERAGE", Value: func(r namedReplay) any { return r.Overage }},
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
		n(sum.Least()), n(sum.Requests), countTenants(tenants), n(sum.Refused))
	if more := refusedMore(affected); more == 0 {
		text += "\nno tenant would have been refused more than it was"
	} else {
		text += fmt.Sprintf("\n%s would have been refused more than %s: at least %s requests in all",
			countTenants(more), verb(more, "it was", "they were"), n(sum.More))
	}
	if over := withOverage(affected); over > 0 {
		text += fmt.Sprintf(
			"\n%s would have been billed at most %s requests as overage",
			countTenants(over),
			n(sum.Overage),
		)
	}
	return text
}

// refusedMore counts the tenants that would have had more requests refused.
func refusedMore(affected []usage.ReplayedTenant) (n int64) {
	for _, t := range affected {
		if t.More > 0 {
			n++
		}
	}
	return n
}

// withOverage counts the tenants that would have been billed overage.
func withOverage(affected []usage.ReplayedTenant) (n int64) {
	for _, t := range affected {
		if t.Overage > 0 {
			n++
		}
	}
	return n
}

// countTenants is a number of tenants in words.
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
	// impactDays is the number of days before today whose usage is replayed, along with today's.
	impactDays = 30
	// impactTenants is the number of tenants that are named.
	impactTenants = 10
)

// impact is the effect that a new version would have, by the usage of the last days.
type impact struct {
	plan    plans.Plan
	version plans.Version
	moving  int64
	period  cmdutil.Period
	replay  *usage.TenantsReplay
	// affected are all tenants that would have had more requests refused or been billed overage, the
	// most affected first.
	affected []usage.ReplayedTenant
	most     []namedReplay
}

func monthOfImpact(i impact) plans.Month { return i.version.Quota.Month }

// ImpactView shows the effect that an edit would have.
var ImpactView = append(
	output.Map(View, func(i impact) plans.Plan { return i.plan }),
	output.Column[impact]{Name: "new_version", Value: func(i impact) any { return int64(i.version.Number) }},
	output.Column[impact]{Name: "new_from", Value: func(i impact) any { return i.version.From }},
	output.Column[impact]{Name: "new_per_minute", Value: func(i impact) any { return i.version.Quota.PerMinute }},
	output.Column[impact]{Name: "new_per_day", Value: func(i impact) any { return i.version.Quota.PerDay }},
	tenant.PerMonth("new_per_month", monthOfImpact),
	tenant.Overage("new_overage", monthOfImpact),
	output.Column[impact]{Name: "tenants_moving", Value: func(i impact) any { return i.moving }},
	output.Column[impact]{Name: "tenants_refused_more", Value: func(i impact) any { return refusedMore(i.affected) }},
	output.Column[impact]{
		Name:  "more_at_least",
		Value: func(i impact) any { sum, _ := i.replay.Sum(); return sum.More },
	},
	output.Column[impact]{Name: "tenants_with_overage", Value: func(i impact) any { return withOverage(i.affected) }},
	output.Column[impact]{
		Name:  "overage_at_most",
		Value: func(i impact) any { sum, _ := i.replay.Sum(); return sum.Overage },
	},
	output.Column[impact]{
		Name:  "most_affected",
		Value: func(i impact) any { return output.ListJSON(AffectedView, i.most) },
	},
)

// printImpact replays the last days' usage of the tenants that would move, and prints the change
// with its effect.
func printImpact(ctx context.Context, f *cmdutil.Factory, db *store.DB, done pricing.EditedPlan) error {
	i := impact{plan: done.Plan, version: *done.Version, replay: usage.NewTenantsReplay(plans.Quota{})}
	today := f.Now().Truncate(24 * time.Hour)
	i.period = cmdutil.Period{From: today.AddDate(0, 0, -impactDays), To: today.AddDate(0, 0, 1)}
	affected, period := AffectedView, i.period.Days()
	if i.version.Quota.Month.Kind == plans.SomeMonth {
		// The last calendar month, and the present one so far.
		i.period.From = today.AddDate(0, -1, 1-today.Day())
		affected = AffectedView.Show("overage_at_most").Hide("requests")
		period = i.period.From.Format("2006-01") + " and " + today.Format("2006-01") + " so far"
	}
	if !done.KeepExisting && len(done.Followers) > 0 {
		i.moving = int64(len(done.Followers))
		q := *i.version.Quota
		i.replay = usage.NewTenantsReplay(q)
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
		f.Messagef("by the usage of %s:\n%s", period, replayText(i.replay, i.affected))
	}
	p := f.Printer()
	if p.Whole() {
		return output.Item(p, ImpactView, i)
	}
	if p.Format != "" && len(i.most) == 0 {
		return nil
	}
	return printBelow(p, affected, AffectedView, i.most)
}
