package plan

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
)

type showOptions struct {
	*cmdutil.Factory

	name string
}

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	o := &showOptions{Factory: f}
	return f.ReadCommand(&cobra.Command{
		Use:     "show PLAN",
		Aliases: []string{"get", "view"},
		Short:   "Show a plan, its versions and their numbers of tenants",
		Long: `Show a plan and its versions: from when on each has which numbers, who made it,
and how many tenants it binds now. Tenants follow the versions of their own
generation: a version made with --keep-existing begins another one.`,
		Example: `  petstorectl plan show pro`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runShow(cmd.Context(), o) },
	}, cmdutil.PlanArg(f, &o.name))
}

// Details is a plan with its number of tenants and its versions.
type Details struct {
	plans.Plan
	tenants  int64
	versions []plans.Version
}

// DetailsView shows a single plan.
var DetailsView = append(
	output.Map(View, func(d Details) plans.Plan { return d.Plan }),
	output.Column[Details]{Name: "tenants", Value: func(d Details) any { return d.tenants }},
	output.Column[Details]{Name: "versions", Value: func(d Details) any { return output.ListJSON(VersionView, d.versions) }},
)

// VersionView shows a version of a plan.
var VersionView = output.View[plans.Version]{
	{Name: "version", Value: func(v plans.Version) any { return int64(v.Number) }, InList: true},
	{Name: "generation", Value: func(v plans.Version) any { return int64(v.Generation) }},
	{Name: "from", Value: func(v plans.Version) any { return begin(v.From) }, InList: true},
	{Name: "to", Value: func(v plans.Version) any { return v.To }},
	{Name: "per_minute", Value: func(v plans.Version) any { return output.NumberOrNil(quotaOf(plans.Plan{Quota: v.Quota}).PerMinute) }, InList: true},
	{Name: "per_day", Value: func(v plans.Version) any { return output.NumberOrNil(quotaOf(plans.Plan{Quota: v.Quota}).PerDay) }, InList: true},
	{Name: "tenants", Value: func(v plans.Version) any { return v.Tenants }, InList: true},
	{Name: "made_at", Value: func(v plans.Version) any { return v.CreatedAt }},
	{Name: "login", Value: func(v plans.Version) any { return v.CreatedBy }, InList: true},
}

func runShow(ctx context.Context, o *showOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	p, err := db.Plans.Get(ctx, o.name)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Plan: o.name})
	}
	d := Details{Plan: p}
	if d.versions, err = db.Plans.Versions(ctx, o.name); err != nil {
		return err
	}
	for _, v := range d.versions {
		d.tenants += v.Tenants
	}
	printer := o.Printer()
	if printer.Whole() {
		return output.Item(printer, DetailsView, d)
	}
	// The versions follow as rows of their own.
	if err := output.Item(printer, DetailsView[:len(DetailsView)-1], d); err != nil {
		return err
	}
	if printer.Format == "" {
		return output.Rows(printer, VersionView, d.versions)
	}
	if _, err := io.WriteString(o.Out, "\n"); err != nil {
		return err
	}
	return output.Table(printer, VersionView.FormatTimes(time.RFC3339), d.versions)
}
