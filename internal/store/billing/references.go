package billing

import (
	"encoding/json"
	"fmt"
	"math"

	"petstore.example/internal/usage/events"
)

// balance is what a reference got of an hour.
type balance struct {
	Ref      string `json:"billing_ref"`
	Admitted int64  `json:"admitted"`
	Refused  int64  `json:"refused"`
}

func (e eventRow) balances() (list []balance, err error) {
	if err := json.Unmarshal([]byte(e.Balances), &list); err != nil {
		return nil, fmt.Errorf("read balances of references: %w", err)
	}
	return list, nil
}

func (r *eventRun) event(e eventRow, of balance, correction int64) events.Event {
	return events.Event{
		Source:     r.source,
		TenantID:   e.TenantID,
		Tenant:     e.Tenant,
		BillingRef: of.Ref,
		Hour:       e.Hour.UTC(),
		At:         e.At.UTC(),
		Assignment: e.Assignment,
		Began:      e.Began,
		Version:    e.Version,
		Plan:       e.Plan,
		Admitted:   of.Admitted,
		Refused:    of.Refused,
		Correction: correction,
	}
}

// events are those of a page. What a receiver has of an hour has a balance by reference. More goes
// to the reference that has the hour, which is the last that got some. Less is taken from it first,
// never below what it got, and then from those before it. The present reference gets what nobody
// has yet.
func (r *eventRun) events(page []eventRow) (list []events.Event, err error) {
	for _, row := range page {
		balances, err := row.balances()
		if err != nil {
			return nil, err
		}
		if len(balances) == 0 {
			balances = []balance{{row.BillingRef, math.MaxInt64, math.MaxInt64}}
		}
		admitted, refused, correction := row.Admitted, row.Refused, row.Correction
		for i, b := range balances {
			of := balance{b.Ref, share(&admitted, b.Admitted, i == 0), share(&refused, b.Refused, i == 0)}
			if of.Admitted != 0 || of.Refused != 0 {
				list = append(list, r.event(row, of, correction))
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
