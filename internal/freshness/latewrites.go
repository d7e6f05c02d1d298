package freshness

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// announceEvery is the interval between attempts to announce a write that ended late.
const announceEvery = time.Second

// LateWrites is an Invalidator that catches up on late writes. If a write ended so late that readers
// may not know of it, and could not be announced again, LateWrites announces it as soon as that
// succeeds. It is safe for concurrent use.
type LateWrites struct {
	inner Invalidator
	wake  chan struct{}

	mu sync.Mutex
	// late are the tenants whose writes are still to be announced.
	late map[int64]bool
}

var _ Invalidator = (*LateWrites)(nil)

// NewLateWrites returns an Invalidator that announces writes by inner. It needs Run.
func NewLateWrites(inner Invalidator) *LateWrites {
	return &LateWrites{inner: inner, wake: make(chan struct{}, 1), late: map[int64]bool{}}
}

// BeginWrite implements Invalidator.
func (o *LateWrites) BeginWrite(ctx context.Context, tenantID int64, k Kind) (*Write, error) {
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

func (o *LateWrites) announceAgain(tenantID int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late[tenantID] = true
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Run announces late writes until ctx ends. Without them it does nothing.
func (o *LateWrites) Run(ctx context.Context) error {
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

func (o *LateWrites) all() (tenantIDs []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.late))
}

// announce stops at the first failure. While nothing can be announced, as between two terms, there
// are no stamps.
func (o *LateWrites) announce(ctx context.Context, tenantIDs []int64) {
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
