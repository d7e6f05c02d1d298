package billing

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"petstore.example/internal/usage/events"
)

// balance is the usage of an hour that a reference got.
type balance struct {
	Ref      string `json:"billing_ref"`
	Admitted int64  `json:"admitted"`
	Refused  int64  `json:"refused"`
	Overage  int64  `json:"overage"`
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
		Overage:    of.Overage,
		Correction: correction,
	}
}

// events returns the events of a page. A receiver's usage of an hour has a balance for each
// reference. Additional usage goes to the reference that got the hour's usage last, or to the
// present one if none did. A reduction is first taken from that reference, but at most what it got,
// and then from the earlier ones. at is the hour of the page.
func (r *eventRun) events(page []eventRow, at time.Time) (list []events.Event, err error) {
	for _, row := range page {
		balances, err := row.balances()
		if err != nil {
			return nil, err
		}
		if len(balances) == 0 {
			balances = []balance{{row.BillingRef, math.MaxInt64, math.MaxInt64, math.MaxInt64}}
		}
		left, correction := row, row.Correction
		for i, b := range balances {
			of := balance{
				b.Ref,
				share(&left.Admitted, b.Admitted, i == 0),
				share(&left.Refused, b.Refused, i == 0),
				share(&left.Overage, b.Overage, i == 0),
			}
			if of.Admitted != 0 || of.Refused != 0 || of.Overage != 0 {
				list = append(list, r.event(row, of, correction))
				correction++
				if !row.At.Equal(at) {
					correction += movedEvents - 1
				}
			}
		}
	}
	return list, nil
}

// share returns one reference's share of left, and takes it from left.
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
