package api

import (
	"context"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/plans"
)

// PriceList is what is sold.
type PriceList interface {
	// Sold returns the plans that can be assigned now and are listed, with the numbers in force, the smallest
	// first and those without numbers last. It returns keys.ErrUnavailable if Postgres does not
	// answer.
	Sold(ctx context.Context) ([]plans.Plan, error)
}

// soldPlan is a plan in the response of GET /v1/plans. Its title is nil if it has none, and its
// numbers if they are agreed with each tenant.
type soldPlan struct {
	Name              string  `json:"name"`
	Title             *string `json:"title"`
	RequestsPerMinute *int64  `json:"requestsPerMinute"`
	RequestsPerDay    *int64  `json:"requestsPerDay"`
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
		}
	}
	return x.writeItem(list)
}

// readTimeout bounds a read of the price list and the wait for it.
const readTimeout = time.Second

// readPlans reads the price list for all requests that wait for the same read. Each gets a read
// that began after it asked, so it is current. Only one read is under way: requests are free, and
// must not become a load.
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
