package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"petstore.example/internal/plans"
)

// PriceList is what is sold.
type PriceList interface {
	// Sold returns the plans that can be assigned now, with the numbers in force, the smallest first and those without numbers last. It returns
	// keys.ErrUnavailable if Postgres does not answer.
	Sold(ctx context.Context) ([]plans.Plan, error)
}

// soldPlan is a plan in the response of GET /v1/plans. Its numbers are nil if they are agreed with each tenant.
type soldPlan struct {
	Name              string `json:"name"`
	RequestsPerMinute *int64 `json:"requestsPerMinute"`
	RequestsPerDay    *int64 `json:"requestsPerDay"`
}

// listPlans is GET /v1/plans, beta. It needs no key and is not counted.
func listPlans(a *api, x *exchange) error {
	sold, err := a.soldPlans.read(x.Request.Context())
	if err != nil {
		return err
	}
	list := make([]soldPlan, len(sold))
	for i, p := range sold {
		list[i].Name = p.Name
		if p.Quota != nil {
			list[i].RequestsPerMinute, list[i].RequestsPerDay = &p.Quota.PerMinute, &p.Quota.PerDay
		}
	}
	return x.writeItem(list)
}

// readTimeout bounds a read of the price list and the wait for it.
const readTimeout = time.Second

// sharedRead reads the price list for all requests that wait for the same read. Each gets a read that began after it asked, so it is current. Only
// one read is under way: requests are free, and must not become a load. It is safe for concurrent use.
type sharedRead struct {
	list PriceList
	// reading has room for one, the read that is under way.
	reading chan struct{}

	mu sync.Mutex
	// next is the read that has not begun, nil for none.
	next *planRead
}

type planRead struct {
	// done is closed when it has ended, with the plans or the error.
	done chan struct{}
	sold []plans.Plan
	err  error
}

func (s *sharedRead) read(ctx context.Context) ([]plans.Plan, error) {
	s.mu.Lock()
	r := s.next
	leads := r == nil
	if leads {
		// The error is for those who share a read that panics.
		r = &planRead{done: make(chan struct{}), err: errors.New("the read of the price list ended without a result")}
		s.next = r
	}
	s.mu.Unlock()
	if leads {
		s.lead(ctx, r)
	}
	<-r.done
	return r.sold, r.err
}

// lead makes the read. Others wait for it, so it goes on if the client disconnects. It waits no longer than the read before it may take.
func (s *sharedRead) lead(ctx context.Context, r *planRead) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	defer close(r.done)
	s.reading <- struct{}{}
	defer func() { <-s.reading }()
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	r.sold, r.err = s.list.Sold(ctx)
}
