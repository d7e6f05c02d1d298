// Package plan holds the commands about plans.
package plan

import (
	"context"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

// NewCmd returns the command plan.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup(
		"plan,plans",
		"Manage plans",
		newCmdAssign(f),
		newCmdBoost(f),
		newCmdHistory(f),
		newCmdSchedule(f),
		newCmdUnschedule(f),
		newCmdSimulate(f),
		newCmdVoid(f),
		newCmdList(f),
		newCmdShow(f),
		newCmdCreate(f),
		newCmdEdit(f),
		newCmdWithdraw(f),
		newCmdRetire(f),
		newCmdMove(f),
	)
}

// View shows a plan. The quota is null for a plan that takes it from each tenant.
var View = output.View[plans.Plan]{
	{Name: "name", Value: func(p plans.Plan) any { return p.Name }, InList: true},
	{
		Name:   "per_minute",
		Value:  func(p plans.Plan) any { return output.NumberOrNil(quotaOf(p).PerMinute) },
		InList: true,
	},
	{Name: "per_day", Value: func(p plans.Plan) any { return output.NumberOrNil(quotaOf(p).PerDay) }, InList: true},
	tenant.PerMonth("per_month", monthOf),
	tenant.Overage("overage", monthOf),
	{Name: "title", Value: func(p plans.Plan) any { return p.Title }},
	{Name: "price", Value: func(p plans.Plan) any { return p.Price }},
	{Name: "version", Value: func(p plans.Plan) any { return int64(p.Version) }},
	{Name: "from", Value: func(p plans.Plan) any { return begin(p.From) }},
	{Name: "retires_at", Value: func(p plans.Plan) any { return p.RetiresAt }},
	{Name: "unlisted", Value: func(p plans.Plan) any { return p.Unlisted }},
}

// begin is when a version begins, zero for the first ones of a new database, which nothing
// precedes.
func begin(from time.Time) time.Time {
	if from.Unix() <= 0 {
		return time.Time{}
	}
	return from
}

func monthOf(p plans.Plan) plans.Month { return quotaOf(p).Month }

func hasMonth(p plans.Plan) bool { return monthOf(p).Kind == plans.SomeMonth }

func monthOfVersion(v plans.Version) plans.Month { return monthOf(plans.Plan{Quota: v.Quota}) }

func quotaOf(p plans.Plan) plans.Quota {
	if p.Quota == nil {
		return plans.Quota{}
	}
	return *p.Quota
}

func newCmdList(f *cmdutil.Factory) *cobra.Command {
	var list []plans.Plan
	return (&cmdutil.List[plans.Plan]{
		Factory: f, All: true,
		Rows: func(ctx context.Context, db *store.DB, _ int) (_ iter.Seq2[plans.Plan, error], err error) {
			list, err = db.Plans.List(ctx)
			return cmdutil.Items(list), err
		},
		View: func() output.View[plans.Plan] { return View.Show("per_month", "overage") },
		Table: func() output.View[plans.Plan] {
			v := View
			if slices.ContainsFunc(list, hasMonth) {
				v = tenant.ShowMonth(v, monthOf)
			}
			// Plans for later or with an end are rare.
			if slices.ContainsFunc(list, func(p plans.Plan) bool { return p.From.After(f.Now()) }) {
				v = v.Show("from")
			}
			if slices.ContainsFunc(list, func(p plans.Plan) bool { return !p.RetiresAt.IsZero() }) {
				v = v.Show("retires_at")
			}
			if slices.ContainsFunc(list, func(p plans.Plan) bool { return p.Unlisted }) {
				v = v.Show("unlisted")
			}
			return v
		},
	}).Command(&cobra.Command{
		Use:     "list",
		Short:   "List plans, the smallest first",
		Example: `  petstorectl plan list`,
	})
}

func newCmdShow(f *cmdutil.Factory) *cobra.Command {
	s := &cmdutil.Show[Details]{
		Factory: f, View: func(time.Time) output.View[Details] { return DetailsView },
		Print: func(d Details) error { return printDetails(f, d) },
	}
	s.Get = func(ctx context.Context, db *store.DB) (d Details, err error) {
		if d.Plan, err = db.Plans.Get(ctx, s.Subject.Plan); err != nil {
			return d, err
		}
		d.versions, err = db.Plans.Versions(ctx, s.Subject.Plan)
		for _, v := range d.versions {
			d.tenants += v.Tenants
		}
		return d, err
	}
	return s.Command(&cobra.Command{
		Use:   "show PLAN",
		Short: "Show a plan, its versions and their numbers of tenants",
		Long: `Show a plan and its versions: from when on each has which numbers, who made it,
and how many tenants it binds now. Tenants follow the versions of their own
generation: a version made with --keep-existing begins another one.`,
		Example: `  petstorectl plan show pro`,
	}, cmdutil.PlanArg(f, &s.Subject.Plan))
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
	output.Column[Details]{
		Name:  "versions",
		Value: func(d Details) any { return output.ListJSON(VersionView, d.versions) },
	},
)

// VersionView shows a version of a plan.
var VersionView = output.View[plans.Version]{
	{Name: "version", Value: func(v plans.Version) any { return int64(v.Number) }, InList: true},
	{Name: "generation", Value: func(v plans.Version) any { return int64(v.Generation) }},
	{Name: "from", Value: func(v plans.Version) any { return begin(v.From) }, InList: true},
	{Name: "to", Value: func(v plans.Version) any { return v.To }},
	{
		Name:   "per_minute",
		Value:  func(v plans.Version) any { return output.NumberOrNil(quotaOf(plans.Plan{Quota: v.Quota}).PerMinute) },
		InList: true,
	},
	{
		Name:   "per_day",
		Value:  func(v plans.Version) any { return output.NumberOrNil(quotaOf(plans.Plan{Quota: v.Quota}).PerDay) },
		InList: true,
	},
	tenant.PerMonth("per_month", monthOfVersion),
	tenant.Overage("overage", monthOfVersion),
	{Name: "tenants", Value: func(v plans.Version) any { return v.Tenants }, InList: true},
	{Name: "made_at", Value: func(v plans.Version) any { return v.CreatedAt }},
	{Name: "login", Value: func(v plans.Version) any { return v.CreatedBy }, InList: true, Spare: 1},
}

// printDetails prints a plan, and for a person its versions as separate rows.
func printDetails(f *cmdutil.Factory, d Details) error {
	p := f.Printer()
	if p.Whole() {
		return output.Item(p, DetailsView, d)
	}
	if err := output.Item(p, DetailsView[:len(DetailsView)-1], d); err != nil {
		return err
	}
	versions := VersionView
	if slices.ContainsFunc(
		d.versions,
		func(v plans.Version) bool { return monthOfVersion(v).Kind == plans.SomeMonth },
	) {
		versions = tenant.ShowMonth(versions, monthOfVersion)
	}
	return printBelow(p, versions.FormatTimes(time.RFC3339), VersionView, d.versions)
}

// printBelow prints a table below the other output, or rows for a program.
func printBelow[T any](p output.Printer, table, rows output.View[T], items []T) error {
	if p.Format == "" {
		return output.Rows(p, rows, items)
	}
	if _, err := io.WriteString(p.Out, "\n"); err != nil {
		return err
	}
	return output.Table(p, table, items)
}
