package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

type planSimulateOptions struct {
	*factory

	tenant   string
	plan     string
	own      *plans.Quota
	from, to time.Time
}

func newCmdPlanSimulate(f *factory, runF func(context.Context, *planSimulateOptions) error) *cobra.Command {
	if runF == nil {
		runF = runPlanSimulate
	}
	o := &planSimulateOptions{factory: f}
	var quota quotaFlags
	var period periodFlags
	cmd := &cobra.Command{
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
		Args: exactArgs("TENANT", "PLAN"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.tenant, o.plan = args[0], args[1]
			if o.own, err = quota.resolve(cmd); err != nil {
				return err
			}
			if o.from, o.to, err = period.resolve(o.now()); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames, f.planNames),
	}
	addQuotaFlags(cmd, &quota)
	addPeriodFlags(cmd, &period)
	return cmd
}

var replayView = view[usage.ReplayedDay]{
	{name: "day", value: func(d usage.ReplayedDay) any { return d.Date.Format(time.DateOnly) }, short: true},
	{name: "requests", value: func(d usage.ReplayedDay) any { return d.Requests }, short: true},
	{name: "refused_then", value: func(d usage.ReplayedDay) any { return d.Refused }, short: true},
	{name: "refused_at_least", value: func(d usage.ReplayedDay) any { return d.ByDay + d.ByMinute }, short: true},
	{name: "by_day", value: func(d usage.ReplayedDay) any { return d.ByDay }, short: true},
	{name: "by_minute_at_least", heading: "BY MINUTE", value: func(d usage.ReplayedDay) any { return d.ByMinute }, short: true},
}

func runPlanSimulate(ctx context.Context, o *planSimulateOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	about := about{tenant: o.tenant, plan: o.plan}
	plan, err := db.Plans.Get(ctx, o.plan)
	if err != nil {
		return o.explain(ctx, err, about)
	}
	quota, err := plan.Resolve(o.own)
	if err != nil {
		return o.explain(ctx, err, about)
	}
	rows, err := db.Usage.Report(ctx, store.UsageQuery{
		Tenant: o.tenant, From: o.from, To: o.to, By: store.ByHour, Limit: maxDays * 24,
	})
	if err != nil {
		return o.explain(ctx, err, about)
	}
	days := usage.Replay(hoursOf(rows), quota.PerMinute, quota.PerDay)
	o.streams.say("%s", simulated(o, quota, days))
	if len(days) == 0 && (o.output == "" || o.output == "table") {
		return nil
	}
	return printList(o.factory, replayView, days)
}

func hoursOf(rows []store.UsageRow) []usage.Hour {
	hours := make([]usage.Hour, len(rows))
	for i, r := range rows {
		// Requests of an hour before may have been given back.
		hours[i] = usage.Hour{At: r.At, Requests: max(0, r.Admitted+r.Refused), Refused: r.Refused}
	}
	return hours
}

// simulated sums up the days in a sentence.
func simulated(o *planSimulateOptions, q plans.Quota, days []usage.ReplayedDay) string {
	span := o.from.Format(time.DateOnly) + " to " + o.to.AddDate(0, 0, -1).Format(time.DateOnly)
	if len(days) == 0 {
		return "no requests recorded from " + span
	}
	var requests, then, refused int64
	for _, d := range days {
		requests, then, refused = requests+d.Requests, then+d.Refused, refused+d.ByDay+d.ByMinute
	}
	return fmt.Sprintf("plan %s (%s per minute, %s per day), %s:\nat least %s of %s requests would have been refused; %s were refused",
		o.plan, thousands(q.PerMinute), thousands(q.PerDay), span, thousands(refused), thousands(requests), thousands(then))
}
