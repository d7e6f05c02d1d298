package plans

import (
	"context"
	"errors"
	"sync"
	"time"

	"petstore.example/internal/cluster"
)

// changeWait is how many times longer than a request a change waits for a term.
const changeWait = 4

// errUntold: readers could not be told of a change.
var errUntold = errors.New("no server of the cluster can be told of the change at the moment")

// Change implements Versions. In a term in which Redis decides the change is marked there. In another one lists have no version, and
// neither have they at the beginning of the next, for as long as changes last.
func (r *Redis) Change(ctx context.Context, tenantID int64) (done func(settled bool), err error) {
	began := r.clock()
	told, err := r.tell(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	return r.over(ctx, tenantID, began, told), nil
}

// lateChange is less than any mark lasts, and more than a change takes in a process that is not frozen.
const lateChange = ChangeLasts / 2

// over returns what ends a change that began then. Of one that ends late the mark may be gone, and lists from before the change be
// kept under the present version: that is raised again before the change is acknowledged.
func (r *Redis) over(ctx context.Context, tenantID int64, began time.Time, told func(settled bool)) func(settled bool) {
	return func(settled bool) {
		if r.clock().Sub(began) >= lateChange {
			if again, err := r.tell(ctx, tenantID); err == nil {
				again(settled)
			}
		}
		told(settled)
	}
}

// tell tells readers that a change begins.
func (r *Redis) tell(ctx context.Context, tenantID int64) (done func(settled bool), err error) {
	var over int64
	for range changeWait {
		w := wait{over: over}
		t, err := r.term(ctx, &w)
		if errors.Is(err, errAway) {
			break
		}
		if err != nil {
			continue
		}
		if t.Redis == "" {
			return func(bool) {}, nil
		}
		version, err := r.mark(ctx, &t, tenantID)
		if err == nil {
			return r.marked(ctx, &t, tenantID, version), nil
		}
		over = t.Number
	}
	return nil, errUntold
}

// mark marks the tenant in Redis, which it opens first where nobody has.
func (r *Redis) mark(ctx context.Context, t *cluster.Term, tenantID int64) (version int64, err error) {
	for range int(missing / missingPause) {
		bounded, cancel := r.bounded(ctx)
		version, ok, err := r.counters.mark(bounded, t.Number, tenantID)
		cancel()
		switch {
		case err != nil:
			r.lose(t.Number, err)
			return 0, errOver
		case !r.holds(t):
			return 0, errOver
		case ok:
			return version, nil
		}
		known, err := r.open(ctx, t, &ask{claim: Claim{TenantID: tenantID}, answer: answer{status: unopened}}, r.clock())
		if err != nil {
			return 0, err
		}
		if known {
			r.pause(missingPause)
		}
	}
	r.lose(t.Number, errForgotten)
	return 0, errOver
}

// marked returns what ends a change. Nobody waits for it: as long as the mark is there, readers ask Postgres.
func (r *Redis) marked(ctx context.Context, t *cluster.Term, tenantID, version int64) func(settled bool) {
	number := t.Number
	var once sync.Once
	return func(settled bool) {
		once.Do(func() {
			if !settled || !r.cluster.Valid(number) {
				return // The mark ends by itself, or with its term.
			}
			r.spawn(func() {
				ctx, cancel := r.bounded(ctx)
				defer cancel()
				if err := r.counters.unmark(ctx, number, tenantID, version); err != nil {
					r.lose(number, err)
				}
			})
		})
	}
}
