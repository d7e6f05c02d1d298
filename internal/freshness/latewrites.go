package freshness

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// announceEvery is how often it is tried to announce a write that ended late.
const announceEvery = time.Second

// Outcomes is an Invalidator that announces a write which ended so late that readers may not know
// of it, and could not be announced again, as soon as that succeeds. It is safe for concurrent use.
type Outcomes struct {
	inner Invalidator
	wake  chan struct{}

	mu sync.Mutex
	// late are the tenants whose writes are to be announced.
	late map[int64]bool
}

var _ Invalidator = (*Outcomes)(nil)

// NewOutcomes returns an Invalidator that announces writes by inner. It needs Run.
func NewOutcomes(inner Invalidator) *Outcomes {
	return &Outcomes{inner: inner, wake: make(chan struct{}, 1), late: map[int64]bool{}}
}

// BeginWrite implements Invalidator.
func (o *Outcomes) BeginWrite(ctx context.Context, tenantID int64, k Kind) (*Write, error) {
	w, err := o.inner.BeginWrite(ctx, tenantID, k)
	if err != nil {
		return nil, err
	}
	return NewWrite(func(settled bool) error {
		err := w.endAs(settled)
		if err != nil {
			o.announceAgain(tenantID)
		}
		return err
	}), nil
}

func (o *Outcomes) announceAgain(tenantID int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late[tenantID] = true
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run announces late writes until ctx ends. Without them it does nothing.
func (o *Outcomes) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.wake:
		}
		for late := o.all(); len(late) > 0; late = o.all() {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(announceEvery):
			}
			o.announce(ctx, late)
		}
	}
}

func (o *Outcomes) all() (tenantIDs []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.late))
}

// announce stops at the first failure: while nothing can be announced, as between two terms, there
// are no stamps.
func (o *Outcomes) announce(ctx context.Context, tenantIDs []int64) {
	for _, id := range tenantIDs {
		o.mu.Lock()
		delete(o.late, id)
		o.mu.Unlock()
		w, err := o.inner.BeginWrite(ctx, id, Changes)
		if err == nil {
			err = w.Commit()
		}
		if err != nil {
			o.announceAgain(id)
			return
		}
	}
}
