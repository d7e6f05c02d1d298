package plan

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type historyOptions struct {
	*cmdutil.Factory

	tenant string
}

func newCmdHistory(f *cmdutil.Factory) *cobra.Command {
	o := &historyOptions{Factory: f}
	return f.ReadCommand(&cobra.Command{
		Use:   "history TENANT",
		Short: "Show which plan and quota a tenant had, has and will have",
		Long: `Show which plan and quota a tenant had, has and will have: a row for each time
in which they do not change, the earliest first. A period begins with an
assignment to the tenant or with a version of its plan.

The login that made the change is always known. Who made it by their own
account, and why, is in the audit trail: that is empty for logins that may not
read it.`,
		Example: `  petstorectl plan history acme
  petstorectl plan history acme -o csv`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runHistory(cmd.Context(), o) },
	}, cmdutil.TenantArg(f, &o.tenant))
}

// HistoryView shows a period.
var HistoryView = output.View[store.HistoryPeriod]{
	{Name: "from", Value: func(p store.HistoryPeriod) any { return p.From }, InList: true},
	{Name: "to", Value: func(p store.HistoryPeriod) any { return p.To }, InList: true},
	{Name: "plan", Value: func(p store.HistoryPeriod) any { return p.Plan }, InList: true},
	{Name: "version", Heading: "V", Value: func(p store.HistoryPeriod) any { return int64(p.Version) }, InList: true},
	{Name: "kind", Value: func(p store.HistoryPeriod) any { return string(p.Kind) }},
	{Name: "per_minute", Value: func(p store.HistoryPeriod) any { return p.Quota.PerMinute }, InList: true},
	{Name: "per_day", Value: func(p store.HistoryPeriod) any { return p.Quota.PerDay }, InList: true},
	{Name: "assignment", Value: func(p store.HistoryPeriod) any { return p.Assignment }},
	{Name: "made_at", Value: func(p store.HistoryPeriod) any { return p.CreatedAt }},
	{Name: "login", Value: func(p store.HistoryPeriod) any { return p.CreatedBy }},
	{Name: "claimed_actor", Value: func(p store.HistoryPeriod) any { return p.ClaimedActor }},
	{Name: "reason", Value: func(p store.HistoryPeriod) any { return p.Reason }, InList: true, MinWidth: output.TextWidth},
	{Name: "voided_at", Value: func(p store.HistoryPeriod) any { return p.VoidedAt }},
	{Name: "void_reason", Value: func(p store.HistoryPeriod) any { return p.VoidReason }},
}

func runHistory(ctx context.Context, o *historyOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	history, err := db.Tenants.History(ctx, o.tenant)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.tenant})
	}
	v := HistoryView
	if o.Printer().Format == "table" {
		v = tableOfHistory(v)
	}
	return cmdutil.PrintList(o.Factory, v, history)
}

// tableOfHistory has the assignments, which plan void takes, in place of the ends: a period ends when the next one begins. A void
// assignment shows why in place of its reason.
func tableOfHistory(v output.View[store.HistoryPeriod]) output.View[store.HistoryPeriod] {
	v = v.FormatTimes(minuteLayout).Show("assignment").Hide("to")
	for i, c := range v {
		if c.Name == "reason" {
			v[i].Value = func(p store.HistoryPeriod) any {
				if !p.VoidedAt.IsZero() {
					return "void: " + p.VoidReason
				}
				return p.Reason
			}
		}
	}
	return v
}
