package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
)

type usageShowOptions struct {
	*factory

	tenant   string
	from, to time.Time
	by       store.UsageBy
	limit    int
}

// usageLimit is enough for the hours of a month.
const usageLimit = 1000

func newCmdUsageShow(f *factory, runF func(context.Context, *usageShowOptions) error) *cobra.Command {
	if runF == nil {
		runF = runUsageShow
	}
	o := &usageShowOptions{factory: f}
	var month string
	cmd := &cobra.Command{
		Use:   "show [TENANT]",
		Short: "Show the requests of a month",
		Long: `Show the requests of a UTC month by tenant and plan. The plan is the one at the
time of the request: a tenant that changed plans has a row for each of them.`,
		Example: `  petstorectl usage show
  petstorectl usage show --month 2026-11 --by plan -o csv
  petstorectl usage show acme --by day`,
		Args: rangeArgs(0, "TENANT"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) > 0 {
				o.tenant = args[0]
			}
			if o.from, o.to, err = parseMonth(month, o.now()); err != nil {
				return usageProblem("--month: %v", err)
			}
			if err := checkLimit(o.limit); err != nil {
				return err
			}
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.tenantNames),
	}
	groupings := []store.UsageBy{store.ByTenant, store.ByPlan, store.ByKey, store.ByDay, store.ByHour}
	cmd.Flags().StringVar(&month, "month", "", "UTC `MONTH` such as 2026-11 (default: this month)")
	cmd.Flags().Var(newChoice(&o.by, groupings...), "by", "`GROUP` the rows by tenant, plan, key, day or hour")
	addLimitFlag(cmd, &o.limit, usageLimit)
	completeFlag(cmd, "by", "tenant", "plan", "key", "day", "hour")
	completeFlag(cmd, "month")
	return cmd
}

func runUsageShow(ctx context.Context, o *usageShowOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	rows, err := db.Usage.Report(ctx, store.UsageQuery{
		Tenant: o.tenant, From: o.from, To: o.to, By: o.by, Limit: o.limit + 1,
	})
	if err != nil {
		return o.explain(ctx, err, about{tenant: o.tenant})
	}
	month := o.from.Format("2006-01")
	return printLimited(o.factory, usageView(o.by, month), rows, o.limit, "no requests recorded in "+month)
}
