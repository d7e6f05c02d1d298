// Package plan holds the commands about plans.
package plan

import (
	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
)

// NewCmd returns the command plan.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("plan,plans", "Manage plans",
		newCmdList(f), newCmdShow(f), newCmdAssign(f), newCmdSimulate(f),
	)
}

// View shows a plan. The quota is null for a plan that takes it from each tenant.
var View = output.View[plans.Plan]{
	{Name: "name", Value: func(p plans.Plan) any { return p.Name }, InList: true},
	{Name: "per_minute", Value: func(p plans.Plan) any { return output.NumberOrNil(quotaOf(p).PerMinute) }, InList: true},
	{Name: "per_day", Value: func(p plans.Plan) any { return output.NumberOrNil(quotaOf(p).PerDay) }, InList: true},
}

func quotaOf(p plans.Plan) plans.Quota {
	if p.Quota == nil {
		return plans.Quota{}
	}
	return *p.Quota
}
