package client

import (
	"context"
	"net/http"
)

// Plan is a plan that is sold.
type Plan struct {
	Name string `json:"name"`
	// Title is what people call the plan, nil if it has no other name.
	Title *string `json:"title"`
	// RequestsPerMinute and RequestsPerDay are nil if they are agreed with each customer.
	RequestsPerMinute *int64 `json:"requestsPerMinute"`
	RequestsPerDay    *int64 `json:"requestsPerDay"`
	// RequestsPerMonth is the number of requests of a UTC month that the price includes, nil if the
	// plan has none. Overage is how many more a month admits, nil for any number, and without
	// RequestsPerMonth.
	RequestsPerMonth *int64 `json:"requestsPerMonth"`
	Overage          *int64 `json:"overage"`
}

// ListPlans returns the plans that are sold, the smallest first. It is not counted.
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) ListPlans(ctx context.Context, opts ...CallOption) ([]Plan, error) {
	cl := &call{method: http.MethodGet, path: "plans", unmetered: true}
	plans, err := fetch[[]Plan](ctx, c, cl, nil, opts)
	if err != nil {
		return nil, err
	}
	return *plans, nil
}
