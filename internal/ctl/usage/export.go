package usage

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
)

type exportOptions struct {
	*cmdutil.Factory

	month cmdutil.Period
}

func newCmdExport(f *cmdutil.Factory) *cobra.Command {
	o := &exportOptions{Factory: f}
	cmd := f.ReadCommand(&cobra.Command{
		Use:   "export",
		Short: "Export a month for billing as CSV",
		Long: `Export a UTC month for billing. Each row is a period during which a tenant's
plan and quota did not change, with the numbers of admitted and refused
requests; periods without requests are included. Each recorded request is in
exactly one row: that of the plan and quota by which it was decided. The default
format is CSV, and all rows are printed.`,
		Example: `  petstorectl usage export --month 2026-11 > 2026-11.csv
  petstorectl usage export --month 2026-11 -o json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runExport(cmd.Context(), o) },
	})
	cmdutil.MonthFlag(cmd, f, &o.month)
	return cmd
}

// BillingView shows a row of the export.
func BillingView(month string) output.View[store.BillingRow] {
	return output.View[store.BillingRow]{
		{Name: "month", Value: func(store.BillingRow) any { return month }},
		{Name: "tenant_id", Value: func(r store.BillingRow) any { return r.TenantID }},
		{Name: "tenant", Value: func(r store.BillingRow) any { return r.Tenant }, InList: true, MinWidth: output.TextWidth},
		{Name: "plan", Value: func(r store.BillingRow) any { return r.Plan }, InList: true},
		{Name: "per_minute", Value: func(r store.BillingRow) any { return output.NumberOrNil(r.PerMinute) }},
		{Name: "per_day", Value: func(r store.BillingRow) any { return output.NumberOrNil(r.PerDay) }},
		{Name: "from", Value: func(r store.BillingRow) any { return r.From }, InList: true},
		{Name: "to", Value: func(r store.BillingRow) any { return r.To }, InList: true},
		{Name: "admitted", Value: func(r store.BillingRow) any { return r.Admitted }, InList: true},
		{Name: "refused", Value: func(r store.BillingRow) any { return r.Refused }, InList: true},
	}
}

func runExport(ctx context.Context, o *exportOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	rows, err := db.Usage.Billing(ctx, o.month.From, o.month.To)
	if err != nil {
		return err
	}
	month := o.month.From.Format("2006-01")
	if o.Now().Before(o.month.To) {
		o.Messagef("%s has not ended: these are the numbers so far", month)
	}
	v, p := BillingView(month), o.Printer()
	switch o.Output {
	case "":
		p.Format = "csv"
	case "table":
		// Relative times are too vague for billing, exact ones too wide for a terminal.
		v = v.FormatTimes("2006-01-02 15:04Z")
	}
	return output.List(p, v, rows)
}
