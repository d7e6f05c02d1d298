package plans

import (
	"context"
	"errors"
	"sync"

	"petstore.example/internal/fleet"
)

// changeWait is how many times longer than a request a change waits for a term.
const changeWait = 4

// errUntold: readers could not be told of a change.
var errUntold = errors.New("no server of the fleet can be told of the change at the moment")

// Change implements Versions. In a term in which Redis decides the change is marked there. In another one lists have no version, and
// neither have they at the beginning of the next, for as long as changes last.
func (r *Redis) Change(ctx context.Context, tenantID int64) (done func(settled bool), err error) {
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
func (r *Redis) mark(ctx context.Context, t *fleet.Term, tenantID int64) (version int64, err error) {
	for range int(missing / missingPause) {
		bounded, cancel := r.bounded(ctx)
		version, ok, err := r.counters.mark(bounded, t.Number, tenantID)
		cancel()
		switch {
		case err != nil:
			r.lose(t.Number, err)
			return 0, errOver
		case !r.fleet.Holds(t.Number):
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
func (r *Redis) marked(ctx context.Context, t *fleet.Term, tenantID, version int64) func(settled bool) {
	number := t.Number
	var once sync.Once
	return func(settled bool) {
		once.Do(func() {
			if !settled || !r.fleet.Holds(number) {
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
