package diagnose

import (
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// LargerPlan is how many refusals would remain under a plan, at least.
type LargerPlan struct {
	Name   string
	Remain int64
}

// LargerPlans returns how many requests of these hours were refused under a quota, and how many
// would be, at least, under each of these plans that is larger.
func LargerPlans(hours []usage.Hour, q plans.Quota, sold []plans.Plan) (refused int64, list []LargerPlan) {
	refused, _ = usage.Refusals(hours, q.PerMinute, q.PerDay)
	for _, p := range sold {
		if p.Quota != nil && *p.Quota != q && p.Quota.PerMinute >= q.PerMinute && p.Quota.PerDay >= q.PerDay {
			_, remain := usage.Refusals(hours, p.Quota.PerMinute, p.Quota.PerDay)
			list = append(list, LargerPlan{p.Name, remain})
		}
	}
	return refused, list
}
