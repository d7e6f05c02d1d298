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
}

func newCmdSimulate(f *cmdutil.Factory) *cobra.Command {
	o := &simulateOptions{Factory: f}
	var quota cmdutil.QuotaFlags
	var period cmdutil.PeriodFlags
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "simulate TENANT PLAN",
		Short: "Replay a tenant's usage under another plan",
		Long: `Replay a tenant's recorded usage under a plan, and show for each UTC day how
many requests would have been refused. Nothing is changed.

Usage is recorded by hour. For the per-day limit the result is exact. For the
per-minute limit it is a lower bound, which assumes that the requests of an hour
are spread evenly; a tenant that sends bursts would be refused more.

Requests that were refused are replayed too.`,
		Example: `  petstorectl plan simulate acme pro
  petstorectl plan simulate acme free --from 2026-10-15 --to 2026-11-14 -o csv
  petstorectl plan simulate acme enterprise --per-minute 2000 --per-day 250000`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.quota, err = quota.Quota(cmd); err != nil {
				return err
			}
			if o.period, err = period.Period(cmd); err != nil {
				return err
			}
			return runSimulate(cmd.Context(), o)
		},
	}, cmdutil.TenantArg(f, &o.tenant), cmdutil.PlanArg(f, &o.plan))
	quota.Add(cmd)
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
	{Name: "by_minute_at_least", Heading: "BY MINUTE", Value: func(d usage.ReplayedDay) any { return d.ByMinute }, InList: true},
}

func runSimulate(ctx context.Context, o *simulateOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	subject := cmdutil.Subject{Tenant: o.tenant, Plan: o.plan}
	plan, err := db.Plans.Get(ctx, o.plan)
	if err != nil {
		return o.Explain(ctx, err, subject)
	}
	quota, err := plan.Resolve(o.quota)
	if err != nil {
		return o.Explain(ctx, err, subject)
	}
	rows, err := db.Usage.Report(ctx, store.UsageQuery{
		Tenant: o.tenant, From: o.period.From, To: o.period.To, By: store.ByHour, Limit: cmdutil.MaxDays * 24,
	})
	if err != nil {
		return o.Explain(ctx, err, subject)
	}
	days := usage.Replay(hoursOf(rows), quota.PerMinute, quota.PerDay)
	o.Messagef("%s", o.summary(quota, days))
	return cmdutil.PrintList(o.Factory, ReplayView, days)
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
	return fmt.Sprintf("plan %s (%s per minute, %s per day), %s:\nat least %s of %s requests would have been refused; %s were refused",
		o.plan, n(q.PerMinute), n(q.PerDay), o.period.Days(), n(refused), n(requests), n(then))
}
