package api

import (
	"context"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/plans"
)

// soldPlan is a plan in the response of GET /v1/plans. Its title is nil if it has none. Its numbers
// are nil if they are agreed with each tenant; RequestsPerMonth and Overage also as in usageQuota.
type soldPlan struct {
	Name              string  `json:"name"`
	Title             *string `json:"title"`
	RequestsPerMinute *int64  `json:"requestsPerMinute"`
	RequestsPerDay    *int64  `json:"requestsPerDay"`
	RequestsPerMonth  *int64  `json:"requestsPerMonth"`
	Overage           *int64  `json:"overage"`
}

// listPlans is GET /v1/plans, beta. It needs no key and is not counted.
func listPlans(a *api, x *exchange) error {
	sold, err := a.readPlans(x.Request.Context())
	if err != nil {
		return err
	}
	list := make([]soldPlan, len(sold))
	for i, p := range sold {
		list[i].Name = p.Name
		if p.Title != "" {
			list[i].Title = &p.Title
		}
		if p.Quota != nil {
			list[i].RequestsPerMinute, list[i].RequestsPerDay = &p.Quota.PerMinute, &p.Quota.PerDay
			list[i].RequestsPerMonth, list[i].Overage = monthOfPlan(p.Quota.Month)
		}
	}
	return x.writeItem(list)
}

// readTimeout bounds a read of the price list, and the wait for a read.
const readTimeout = time.Second

// readPlans reads the price list for all requests that wait for the same read. That read begins
// after each of them has asked, so its result is current. Only one read is under way at a time:
// requests for the list are free, and must not become a load.
func (a *api) readPlans(ctx context.Context) ([]plans.Plan, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	sold, _, err := a.soldPlans.Do(
		struct{}{},
		0,
		func(freshness.Stamp) ([]plans.Plan, error) { return a.Plans.Sold(ctx) },
	)
	return sold, err
}
