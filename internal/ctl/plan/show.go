package plan

import (
	"context"

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
		Short:   "Show a plan and its number of tenants",
		Example: `  petstorectl plan show pro`,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runShow(cmd.Context(), o) },
	}, cmdutil.PlanArg(f, &o.name))
}

// Details is a plan with its number of tenants.
type Details struct {
	plans.Plan
	tenants int64
}

// DetailsView shows a single plan.
var DetailsView = append(
	output.Map(View, func(d Details) plans.Plan { return d.Plan }),
	output.Column[Details]{Name: "tenants", Value: func(d Details) any { return d.tenants }},
)

func runShow(ctx context.Context, o *showOptions) error {
	db, err := o.DB(ctx)
	if err != nil {
		return err
	}
	p, err := db.Plans.Get(ctx, o.name)
	if err != nil {
		return o.Explain(ctx, err, cmdutil.Subject{Plan: o.name})
	}
	tenants, err := db.Plans.CountTenants(ctx, o.name)
	if err != nil {
		return err
	}
	return output.Item(o.Printer(), DetailsView, Details{p, tenants})
}
