package usage

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store"
)

type showOptions struct {
	*cmdutil.Factory

	tenant   string
	month    cmdutil.Period
	grouping store.UsageBy
	list     cmdutil.ListFlags
}

// showLimit is enough for the hours of a month.
const showLimit = 1000

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	o := &showOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "show",
		Short: "Show the requests of a month",
		Long: `Show the requests of a UTC month by tenant and plan. A request counts under the
plan of its time: a tenant that changed plans has a row for each plan.`,
		Example: `  petstorectl usage show
  petstorectl usage show --month 2026-11 --by plan -o csv
  petstorectl usage show --tenant acme --by day`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runShow(cmd.Context(), o) },
	})
	cmdutil.TenantFlag(cmd, f, &o.tenant)
	cmdutil.MonthFlag(cmd, f, &o.month)
	cmdutil.EnumFlag(cmd, &o.grouping, "by", "", "`GROUP` the rows by tenant, plan, key, day or hour",
		store.ByTenant, store.ByPlan, store.ByKey, store.ByDay, store.ByHour)
	o.list.Add(cmd, showLimit)
	return cmd
}

func runShow(ctx context.Context, o *showOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	rows := db.Usage.Report(ctx, store.UsageQuery{
		Tenant: o.tenant, From: o.month.From, To: o.month.To, By: o.grouping, Limit: o.list.Query(o.Factory),
	})
	month := o.month.From.Format("2006-01")
	err = cmdutil.PrintStream(o.Factory, View(o.grouping, month), rows, &o.list, nil, "no requests recorded in "+month)
	return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
}
