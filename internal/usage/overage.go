package usage

import "petstore.example/internal/plans"

// PeriodUse is the part of a tenant's UTC month that was used under one assignment and one version
// of its plan.
type PeriodUse struct {
	Month plans.Month
	// Admitted is the number of requests that are billed: without those that were refunded.
	Admitted int64
}

// Overages returns how many requests of each period were above the included number, given all
// periods of a month in the order of their beginning, assignment and version. They are those that a
// counter of the month would have found above the period's number, one request after the other. A
// period without a month is not counted, and has no overage.
func Overages(periods []PeriodUse) []int64 {
	overages := make([]int64, len(periods))
	counted := int64(0)
	for i, p := range periods {
		if p.Month.Kind != plans.SomeMonth {
			continue
		}
		before := max(p.Month.Included, counted)
		counted += p.Admitted
		overages[i] = max(0, counted-before)
	}
	return overages
}
