package plans

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/freshness"
)

// writeWait is how many times longer than a request a write waits for a term.
const writeWait = 4

// errNotAnnounced: readers could not be told of a write.
var errNotAnnounced = errors.New("the write cannot be announced to the cluster's servers at the moment")

// BeginWrite implements freshness.Invalidator. In a term in which Redis decides it leaves a write intent there. In any other
// term lists have no stamp, and neither have they at the beginning of the next, for as long as write intents last.
func (r *Redis) BeginWrite(ctx context.Context, tenantID int64) (*freshness.Write, error) {
	began := r.clock()
	end, err := r.announce(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	return r.write(ctx, tenantID, began, end), nil
}

// lateWrite is less than any write intent lasts, and more than a write takes in a process that is not frozen.
const lateWrite = freshness.WriteIntentTTL / 2

// write returns a write that began then. If it ends late, its intent may be gone, and lists from before it may be cached
// under the current stamp: it is announced once more before it is acknowledged, which changes the stamp.
func (r *Redis) write(ctx context.Context, tenantID int64, began time.Time, end func(settled bool)) *freshness.Write {
	return freshness.NewWrite(func(settled bool) {
		if r.clock().Sub(began) >= lateWrite {
			if again, err := r.announce(ctx, tenantID); err == nil {
				again(settled)
			}
		}
		end(settled)
	})
}

// announce tells readers that a write begins.
func (r *Redis) announce(ctx context.Context, tenantID int64) (end func(settled bool), err error) {
	var over int64
	for range writeWait {
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
		version, err := r.beginWrite(ctx, &t, tenantID)
		if err == nil {
			return r.endWrite(ctx, t.Number, tenantID, version), nil
		}
		over = t.Number
	}
	return nil, errNotAnnounced
}

// beginWrite leaves a write intent in Redis. It initializes the tenant there if nobody has.
func (r *Redis) beginWrite(ctx context.Context, t *cluster.Term, tenantID int64) (version int64, err error) {
	for range int(missing / missingPause) {
		bounded, cancel := r.bounded(ctx)
		version, ok, err := r.counters.beginWrite(bounded, t.Number, tenantID)
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

// endWrite returns what removes a write intent. Nobody waits for it: until it is gone, readers ask Postgres.
func (r *Redis) endWrite(ctx context.Context, term, tenantID, version int64) (end func(settled bool)) {
	return func(settled bool) {
		if !settled || !r.cluster.Valid(term) {
			return // The intent ends by itself, or with its term.
		}
		r.spawn(func() {
			ctx, cancel := r.bounded(ctx)
			defer cancel()
			if err := r.counters.endWrite(ctx, term, tenantID, version); err != nil {
				r.lose(term, err)
			}
		})
	}
}
