package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
)

type usageExportOptions struct {
	*factory

	from, to time.Time
}

func newCmdUsageExport(f *factory, runF func(context.Context, *usageExportOptions) error) *cobra.Command {
	if runF == nil {
		runF = runUsageExport
	}
	o := &usageExportOptions{factory: f}
	var month string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "A month for billing, in CSV: who had which plan when, and used what",
		Long: `A UTC month for billing: a line for each time that a customer was on a plan,
also one on which it used nothing, with the numbers that were in force and what
was admitted and refused. All lines are printed, in CSV where no other format is
asked for. Each recorded request is in exactly one line.

Usage is kept by hour: an hour in which a customer's numbers changed within one
plan counts to the later ones. Usage on a plan that a customer never had, should
there be any, has a line without times and numbers.`,
		Example: `  petstorectl usage export --month 2026-11 > 2026-11.csv
  petstorectl usage export --month 2026-11 -o json`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.from, o.to, err = parseMonth(month, o.now()); err != nil {
				return usageProblem("--month: %v", err)
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(),
	}
	cmd.Flags().StringVar(&month, "month", "", "the `MONTH`, as 2026-11; this one when left out")
	completeFlag(cmd, "month")
	return cmd
}

func billingView(month string) view[store.BillingRow] {
	return view[store.BillingRow]{
		{name: "month", value: func(store.BillingRow) any { return month }},
		{name: "tenant_id", value: func(r store.BillingRow) any { return r.TenantID }},
		{name: "tenant", value: func(r store.BillingRow) any { return r.Tenant }, short: true, least: textWidth},
		{name: "plan", value: func(r store.BillingRow) any { return r.Plan }, short: true},
		{name: "per_minute", value: func(r store.BillingRow) any { return limitOrNil(r.PerMinute) }},
		{name: "per_day", value: func(r store.BillingRow) any { return limitOrNil(r.PerDay) }},
		{name: "from", value: func(r store.BillingRow) any { return r.From }, short: true},
		{name: "to", value: func(r store.BillingRow) any { return r.To }, short: true},
		{name: "admitted", value: func(r store.BillingRow) any { return r.Admitted }, short: true},
		{name: "refused", value: func(r store.BillingRow) any { return r.Refused }, short: true},
	}
}

func runUsageExport(ctx context.Context, o *usageExportOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	rows, err := db.Billing(ctx, o.from, o.to)
	if err != nil {
		return err
	}
	month := o.from.Format("2006-01")
	if o.now().Before(o.to) {
		o.streams.say("%s is not over: this is what was used so far", month)
	}
	v := billingView(month)
	switch o.output {
	case "":
		return printCSV(o.streams.out, v, rows)
	case "table":
		return printTable(o.factory, minutes(v.shorts()), rows)
	}
	return printList(o.factory, v, rows)
}

// minutes is the view with its times to the minute: two of them fit into a terminal.
func minutes[T any](v view[T]) view[T] {
	cut := slices.Clone(v)
	for i, c := range v {
		cut[i].value = func(t T) any {
			at, ok := c.value(t).(time.Time)
			switch {
			case !ok:
				return c.value(t)
			case at.IsZero():
				return ""
			}
			return at.Format("2006-01-02 15:04Z")
		}
	}
	return cut
}
