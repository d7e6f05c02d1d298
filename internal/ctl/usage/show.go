package usage

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
)

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	var (
		month    cmdutil.Period
		grouping billing.UsageBy
	)
	l := &cmdutil.List[billing.UsageRow]{Factory: f, TableRows: 1000} // enough for the hours of a month
	l.Rows = func(ctx context.Context, db *store.DB, limit int) (iter.Seq2[billing.UsageRow, error], error) {
		l.Empty = "no requests recorded in " + month.Month()
		return db.Usage.Report(
			ctx,
			billing.UsageQuery{
				Tenant: l.Subject.Tenant, From: month.From, To: month.To, By: grouping, Limit: limit,
				Overage: grouping != billing.ByKey,
			},
		), nil
	}
	l.View = func() output.View[billing.UsageRow] { return View(grouping, month.Month()) }
	cmd := l.Command(&cobra.Command{
		Use:   "show",
		Short: "Show the requests of a month",
		Long: `Show the requests of a UTC month by tenant and plan. A request counts under the
plan of its time: a tenant that changed plans has a row for each plan.`,
		Example: `  petstorectl usage show
  petstorectl usage show --month 2026-11 --by plan -o csv
  petstorectl usage show --tenant acme --by day`,
	})
	cmdutil.TenantFlag(cmd, f, &l.Subject.Tenant)
	cmdutil.MonthFlag(cmd, f, &month)
	cmdutil.EnumFlag(cmd, &grouping, "by", "", "`GROUP` the rows by tenant, plan, key, day or hour",
		billing.ByTenant, billing.ByPlan, billing.ByKey, billing.ByDay, billing.ByHour)
	return cmdutil.SetColumns(cmd, nil) // The columns depend on --by.
}
