package main

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/plans"
)

type planShowOptions struct {
	*factory

	name string
}

func newCmdPlanShow(f *factory, runF func(context.Context, *planShowOptions) error) *cobra.Command {
	if runF == nil {
		runF = runPlanShow
	}
	o := &planShowOptions{factory: f}
	return &cobra.Command{
		Use:     "show PLAN",
		Aliases: []string{"get", "view"},
		Short:   "Show a plan and its number of tenants",
		Example: `  petstorectl plan show pro`,
		Args:    exactArgs("PLAN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeArgs(f.planNames),
	}
}

// planDetails is a plan with what is counted when one is shown.
type planDetails struct {
	plans.Plan
	tenants int64
}

var planDetailsView = append(
	over(planView, func(d planDetails) plans.Plan { return d.Plan }),
	column[planDetails]{name: "tenants", value: func(d planDetails) any { return d.tenants }},
)

func runPlanShow(ctx context.Context, o *planShowOptions) error {
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	p, err := db.Plans.Get(ctx, o.name)
	if err != nil {
		return o.explain(ctx, err, about{plan: o.name})
	}
	tenants, err := db.Plans.CountTenants(ctx, o.name)
	if err != nil {
		return err
	}
	return printOne(o.factory, planDetailsView, planDetails{p, tenants})
}
