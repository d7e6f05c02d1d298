package main

import (
	"github.com/spf13/cobra"

	"petstore.example/internal/plans"
)

func newCmdPlan(f *factory) *cobra.Command {
	return newGroup("plan,plans", "Manage plans",
		newCmdPlanList(f, nil), newCmdPlanShow(f, nil), newCmdPlanAssign(f, nil), newCmdPlanSimulate(f, nil),
	)
}

// The numbers are null for a plan that takes them from each tenant.
var planView = view[plans.Plan]{
	{name: "name", value: func(p plans.Plan) any { return p.Name }, short: true},
	{name: "per_minute", value: func(p plans.Plan) any { return numberOf(p, true) }, short: true},
	{name: "per_day", value: func(p plans.Plan) any { return numberOf(p, false) }, short: true},
}

func numberOf(p plans.Plan, minute bool) *int64 {
	switch {
	case p.Quota == nil:
		return nil
	case minute:
		return &p.Quota.PerMinute
	}
	return &p.Quota.PerDay
}
