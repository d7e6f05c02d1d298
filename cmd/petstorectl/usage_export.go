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
		Short: "Export a month for billing as CSV",
		Long: `Export a UTC month for billing. Each row is a period during which a tenant was
on a plan, with the quota and the numbers of admitted and refused requests;
periods without requests are included. Each recorded request is in exactly one
row. The default format is CSV, and all rows are printed.

Usage is recorded by hour: an hour in which a tenant's quota changed within one
plan belongs to the later quota. Usage on a plan that was never assigned to the
tenant, should there be any, has a row without times and quota.`,
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
	cmd.Flags().StringVar(&month, "month", "", "UTC `MONTH` such as 2026-11 (default: this month)")
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
	rows, err := db.Usage.Billing(ctx, o.from, o.to)
	if err != nil {
		return err
	}
	month := o.from.Format("2006-01")
	if o.now().Before(o.to) {
		o.streams.say("%s has not ended: these are the numbers so far", month)
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
