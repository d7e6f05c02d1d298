package main

import (
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
)

func newCmdUsage(f *factory) *cobra.Command {
	return newGroup("usage", "Report usage by month", newCmdUsageShow(f, nil), newCmdUsageExport(f, nil))
}

// usageView has the columns of the grouping, then the two sums.
func usageView(by store.UsageBy, month string) view[store.UsageRow] {
	period := column[store.UsageRow]{name: "month", value: func(store.UsageRow) any { return month }}
	tenant := column[store.UsageRow]{
		name: "tenant", value: func(r store.UsageRow) any { return r.Tenant }, short: true, least: textWidth,
	}
	plan := column[store.UsageRow]{name: "plan", value: func(r store.UsageRow) any { return r.Plan }, short: true}
	var v view[store.UsageRow]
	switch by {
	case store.ByTenantAndPlan:
		v = view[store.UsageRow]{period, tenant, plan}
	case store.ByTenant:
		v = view[store.UsageRow]{period, tenant}
	case store.ByPlan:
		v = view[store.UsageRow]{period, plan}
	case store.ByKey:
		v = view[store.UsageRow]{
			period, tenant,
			{name: "key_id", value: func(r store.UsageRow) any { return r.KeyID }, short: true},
			{name: "key_name", value: func(r store.UsageRow) any { return r.KeyName }, short: true, least: textWidth},
		}
	case store.ByDay:
		v = view[store.UsageRow]{
			{name: "day", value: func(r store.UsageRow) any { return r.At.Format(time.DateOnly) }, short: true},
		}
	case store.ByHour:
		v = view[store.UsageRow]{
			{name: "hour", value: func(r store.UsageRow) any { return r.At.Format(time.RFC3339) }, short: true},
		}
	}
	return append(v,
		column[store.UsageRow]{name: "admitted", value: func(r store.UsageRow) any { return r.Admitted }, short: true},
		column[store.UsageRow]{name: "refused", value: func(r store.UsageRow) any { return r.Refused }, short: true},
	)
}
