package usage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/usage/closing"
)

type exportOptions struct {
	*cmdutil.Factory

	month cmdutil.Period
	query billing.LineQuery
	by    billing.UsageBy
}

func newCmdExport(f *cmdutil.Factory) *cobra.Command {
	o := &exportOptions{Factory: f}
	cmd := cmdutil.DatabaseCommand(f, &cobra.Command{
		Use:   "export",
		Short: "Export a month for billing as CSV",
		Long: `Export a UTC month for billing. Each line is a period during which a tenant's
assignment and the version of its plan did not change, with the numbers of
admitted and refused requests; periods without requests are included. Usage that
arrived after its month was closed has lines of its own, which name the month
that they correct. A void line has negative numbers: it takes back the requests
of an assignment that is void. The sum of all lines is what to bill; overage is
the part of it above the included requests of a month.

The last line has the kind "total": how many lines there are, their sums, and
the SHA-256 of their hashes. The lines of a closed month are those
that were sealed; they never change. The default format is CSV.

With --by tenant there is a line for each tenant: its included number, and the
sums of its lines.

--columns may also name billing_ref, the tenant's ID in the billing system
today. It is no part of what is sealed.`,
		Example: `  petstorectl usage export --month 2026-11 > 2026-11.csv
  petstorectl usage export --month 2026-11 --tenant acme -o json
  petstorectl usage export --month 2026-11 --by tenant -o table
  petstorectl usage export --month 2026-11 --columns billing_ref,plan,admitted`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runExport(cmd.Context(), o) },
	})
	f.OutputFlag(cmd)
	cmdutil.MonthFlag(cmd, f, &o.month)
	cmdutil.TenantFlag(cmd, f, &o.query.Tenant)
	cmd.Flags().StringVar(&o.query.Plan, "plan", "", "only lines of this `PLAN`")
	cmdutil.CompleteFlagFrom(cmd, "plan", cmdutil.PlanNames(f))
	cmdutil.EnumFlag(cmd, &o.by, "by", "", "one line for each `GROUP`: tenant", billing.ByTenant)
	return cmdutil.SetColumns(cmd, append(LineView.Names(), refColumn.Name, "included"))
}

// exportLine is a line of an export. The last one has the total.
type exportLine struct {
	closing.Line

	number int64
	// sha256 is zero for a line that is not sealed.
	sha256 closing.Hash
	total  bool
	// ref is the billing reference that the tenant has today.
	ref string
}

func (l exportLine) kind() string {
	if l.total {
		return "total"
	}
	return l.Kind
}

// ofLine is a column that is empty in the total.
func ofLine[T any](value func(exportLine) T) func(exportLine) any {
	return func(l exportLine) any {
		if l.total {
			return ""
		}
		return value(l)
	}
}

func hashText(h closing.Hash) string {
	if h == (closing.Hash{}) {
		return ""
	}
	return h.String()
}

// LineView shows a line of the export. The columns up to recorded_sha256, and the last three, are
// the members of the canonical form. The last three are missing in months of closing.FirstFormat.
var LineView = output.View[exportLine]{
	{Name: "month", Value: func(l exportLine) any { return l.Month }},
	{Name: "tenant_id", Value: ofLine(func(l exportLine) int64 { return l.TenantID })},
	{Name: "tenant", Value: func(l exportLine) any { return l.Tenant }, InList: true, MinWidth: output.TextWidth},
	{Name: "plan", Value: func(l exportLine) any { return l.Plan }, InList: true, MinWidth: output.TextWidth},
	{Name: "per_minute", Value: func(l exportLine) any { return output.NumberOrNil(l.PerMinute) }},
	{Name: "per_day", Value: func(l exportLine) any { return output.NumberOrNil(l.PerDay) }},
	{Name: "from", Value: func(l exportLine) any { return l.From }, InList: true},
	{Name: "to", Value: func(l exportLine) any { return l.To }, InList: true},
	{Name: "admitted", Value: func(l exportLine) any { return l.Admitted }, InList: true},
	{Name: "refused", Value: func(l exportLine) any { return l.Refused }, InList: true, Spare: 1},
	{Name: "assignment", Value: ofLine(func(l exportLine) int64 { return l.Assignment })},
	{Name: "version", Value: ofLine(func(l exportLine) int64 { return l.Version })},
	{Name: "kind", Value: func(l exportLine) any { return l.kind() }},
	{Name: "suspended_seconds", Value: ofLine(func(l exportLine) int64 { return l.Suspended })},
	{Name: "corrects", Value: func(l exportLine) any { return l.Corrects }, InList: true},
	{Name: "void", Value: ofLine(func(l exportLine) bool { return l.Void })},
	{Name: "recorded_sha256", Value: func(l exportLine) any { return hashText(l.Recorded) }},
	{Name: "number", Value: func(l exportLine) any { return l.number }},
	{Name: "sha256", Value: func(l exportLine) any { return hashText(l.sha256) }},
	{Name: "per_month", Value: func(l exportLine) any { return l.PerMonth }},
	{Name: "overage_limit", Value: func(l exportLine) any { return l.OverageLimit }},
	{Name: "overage", Value: func(l exportLine) any { return l.Overage }, InList: true},
}

// refColumn is printed only if --columns names it: it does not belong to the month, and is not part
// of the canonical form.
var refColumn = output.Column[exportLine]{
	Name: "billing_ref", Value: func(l exportLine) any { return l.ref }, InList: true,
}

func runExport(ctx context.Context, o *exportOptions) error {
	if o.Now().Before(o.month.From) {
		return cmdutil.UsageErrorf(
			"%s has not begun",
			o.month.Month(),
		).WithHint("the current month is " + o.Now().Format("2006-01"))
	}
	o.CallTimeout = cmdutil.NoTimeLimit
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	if o.query.Plan != "" {
		if _, err := db.Plans.Get(ctx, o.query.Plan); err != nil {
			return o.Explain(ctx, err, cmdutil.Subject{Plan: o.query.Plan})
		}
	}
	o.query.Month = o.month.From
	month, err := db.Months.Get(ctx, o.month.From)
	if err != nil && !errors.Is(err, billing.ErrMonthOpen) {
		return err
	}
	o.announce(month)
	list := o.print
	if o.by == billing.ByTenant {
		list = o.printTenants
	}
	sums, err := list(ctx, db, month)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Tenant: o.query.Tenant})
	}
	if o.Output == "table" {
		o.Messagef(
			"%s: %s admitted, %s refused%s",
			output.Count(sums.Lines, "line"),
			output.Thousands(sums.Admitted),
			output.Thousands(sums.Refused),
			overageText(sums),
		)
	}
	return nil
}

// overageText says how much of the sum is overage, "" if nothing is.
func overageText(s closing.Sums) string {
	if s.Overage == 0 {
		return ""
	}
	return ", " + output.Thousands(s.Overage) + " overage"
}

// announce says how reliable the numbers are.
func (o *exportOptions) announce(month billing.Month) {
	switch {
	case month.Sealed():
		o.Messagef("%s was closed at %s: SHA-256 %s", o.month.Month(), closing.Time(month.SealedAt), month.Sums.SHA256)
	case o.Now().Before(o.month.To):
		o.Messagef("%s has not ended: these are the numbers so far", o.month.Month())
	default:
		o.Messagef("%s is not closed: these are the numbers so far", o.month.Month())
	}
}

// refs returns the tenants' billing references if --columns names them.
func (o *exportOptions) refs(ctx context.Context, db *store.DB) (map[int64]string, error) {
	if !slices.Contains(o.Printer().Columns, refColumn.Name) {
		return nil, nil
	}
	return db.Months.BillingRefs(ctx)
}

func (o *exportOptions) print(ctx context.Context, db *store.DB, month billing.Month) (closing.Sums, error) {
	total := closing.NewTotal()
	v, p := LineView.FormatTimes(time.RFC3339Nano), o.Printer()
	switch {
	case o.Output == "" && p.Filter == nil:
		p.Format = "csv"
	case o.Output == "table":
		// Relative times are too vague for billing, and exact ones are too wide for a terminal.
		v = tableView()
	}
	if month.Format == closing.FirstFormat && len(p.Columns) == 0 {
		v = v[:len(v)-3]
	}
	refs, err := o.refs(ctx, db)
	if err != nil {
		return closing.Sums{}, err
	}
	if refs != nil {
		v = append(slices.Clone(v), refColumn)
	}
	out, err := output.NewStream(p, v)
	if err != nil {
		return closing.Sums{}, err
	}
	number := int64(0)
	err = db.Months.Lines(ctx, o.query, month.Sealed(), func(l *closing.Line, sum closing.Hash) error {
		number++
		line := exportLine{Line: *l, number: number, ref: refs[l.TenantID]}
		if month.Sealed() {
			line.sha256 = sum
		}
		total.Add(l, sum)
		return out.Add(line)
	})
	if err != nil {
		return closing.Sums{}, err
	}
	sums := total.Sums()
	if !month.Sealed() {
		sums.SHA256 = closing.Hash{}
	}
	if p.Format != "table" {
		err = out.Add(totalLine(o.month.Month(), sums))
	}
	return sums, errors.Join(err, out.Close())
}

func totalLine(month string, sums closing.Sums) exportLine {
	return exportLine{
		Line:   closing.Line{Month: month, Admitted: sums.Admitted, Refused: sums.Refused, Overage: sums.Overage},
		number: sums.Lines, sha256: sums.SHA256, total: true,
	}
}

// tableView fits a terminal: a void line is marked beside its plan.
func tableView() output.View[exportLine] {
	return LineView.FormatTimes("01-02 15:04Z").With("plan", func(l exportLine) any {
		if l.Void {
			return "void: " + l.Plan
		}
		return l.Plan
	})
}
