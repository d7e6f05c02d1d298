package billing

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"petstore.example/internal/usage/events"
)

// balance is what a reference got of an hour.
type balance struct {
	Ref      string `json:"billing_ref"`
	Admitted int64  `json:"admitted"`
	Refused  int64  `json:"refused"`
}

// events are those of a page, counted to that hour. What a receiver has of an hour has a balance by
// reference. More goes to the reference that has the hour, which is the last that got some. Less is
// taken from it first, never below what it got, and then from those before it. The present
// reference gets what nobody has yet.
func (r *eventRun) events(page []eventRow, at time.Time) (list []events.Event, err error) {
	for _, row := range page {
		var balances []balance
		if err := json.Unmarshal([]byte(row.Balances), &balances); err != nil {
			return nil, fmt.Errorf("read balances of references: %w", err)
		}
		if len(balances) == 0 {
			balances = []balance{{row.BillingRef, math.MaxInt64, math.MaxInt64}}
		}
		admitted, refused, correction := row.Admitted, row.Refused, row.Correction
		for i, b := range balances {
			e := events.Event{
				Source:     r.source,
				TenantID:   row.TenantID,
				Tenant:     row.Tenant,
				BillingRef: b.Ref,
				Hour:       row.Hour.UTC(),
				At:         at,
				Assignment: row.Assignment,
				Began:      row.Began,
				Version:    row.Version,
				Plan:       row.Plan,
				Admitted:   share(&admitted, b.Admitted, i == 0),
				Refused:    share(&refused, b.Refused, i == 0),
				Correction: correction,
			}
			if e.Admitted != 0 || e.Refused != 0 {
				list = append(list, e)
				correction++
			}
		}
	}
	return list, nil
}

// share takes from left what is one reference's of it.
func share(left *int64, balance int64, has bool) int64 {
	n := *left
	switch {
	case n > 0 && !has:
		return 0
	case n < 0:
		n = -min(-n, max(balance, 0))
	}
	*left -= n
	return n
}
