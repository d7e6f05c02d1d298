// Package plan holds the commands about plans.
package plan

import (
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/plans"
)

// NewCmd returns the command plan.
func NewCmd(f *cmdutil.Factory) *cobra.Command {
	return cmdutil.NewGroup("plan,plans", "Manage plans",
		newCmdAssign(f), newCmdBoost(f), newCmdHistory(f), newCmdSchedule(f), newCmdUnschedule(f), newCmdSimulate(f), newCmdVoid(f),
		newCmdList(f), newCmdShow(f), newCmdCreate(f), newCmdEdit(f), newCmdWithdraw(f), newCmdRetire(f), newCmdMove(f),
	)
}

// View shows a plan. The quota is null for a plan that takes it from each tenant.
var View = output.View[plans.Plan]{
	{Name: "name", Value: func(p plans.Plan) any { return p.Name }, InList: true},
	{Name: "per_minute", Value: func(p plans.Plan) any { return output.NumberOrNil(quotaOf(p).PerMinute) }, InList: true},
	{Name: "per_day", Value: func(p plans.Plan) any { return output.NumberOrNil(quotaOf(p).PerDay) }, InList: true},
	{Name: "title", Value: func(p plans.Plan) any { return p.Title }},
	{Name: "price", Value: func(p plans.Plan) any { return p.Price }},
	{Name: "version", Value: func(p plans.Plan) any { return int64(p.Version) }},
	{Name: "from", Value: func(p plans.Plan) any { return begin(p.From) }},
	{Name: "retires_at", Value: func(p plans.Plan) any { return p.RetiresAt }},
}

// begin is when a version begins, zero for the first ones of a new database: there is nothing before them.
func begin(from time.Time) time.Time {
	if from.Unix() <= 0 {
		return time.Time{}
	}
	return from
}

func quotaOf(p plans.Plan) plans.Quota {
	if p.Quota == nil {
		return plans.Quota{}
	}
	return *p.Quota
}
