package distributed

import (
	"context"
	"errors"

	"petstore.example/internal/cluster"
	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
)

// writeWait is how many times longer than a request a write waits for a term.
const writeWait = 4

// errNotAnnounced: readers could not be told of a write.
var errNotAnnounced = errors.New("the write can't be announced to the other servers at the moment")

// lateWrite is less than any write intent lasts, and more than a write takes in a process that is not frozen.
const lateWrite = freshness.WriteIntentTTL / 2

// Invalidator announces writes to catalogues. In a term in which Redis decides it leaves a write intent there. In any other term lists
// have no stamp, and neither have they at the beginning of the next, for as long as write intents last.
type Invalidator struct {
	options *Options
	backend Backend
	health  *redisHealth
	terms   *termWait
	init    *initializer
}

var _ freshness.Invalidator = (*Invalidator)(nil)

// BeginWrite implements freshness.Invalidator.
//
// If a write ends late, its intent may be gone, and lists from before it may be cached under the current stamp. It is then announced once
// more before it is acknowledged, which changes the stamp.
func (v *Invalidator) BeginWrite(ctx context.Context, tenantID int64) (*freshness.Write, error) {
	began := v.options.Clock()
	end, err := v.announce(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	return freshness.NewWrite(func(settled bool) {
		if v.options.Clock().Sub(began) >= lateWrite {
			if again, err := v.announce(ctx, tenantID); err == nil {
				again(settled)
			}
		}
		end(settled)
	}), nil
}

// announce tells readers that a write begins.
func (v *Invalidator) announce(ctx context.Context, tenantID int64) (end func(settled bool), err error) {
	var over int64
	for range writeWait {
		t, err := v.terms.term(ctx, &waited{over: over})
		if errors.Is(err, errStoreUnreachable) {
			break
		}
		if err != nil {
			continue
		}
		if t.Redis == "" {
			return func(bool) {}, nil
		}
		version, err := v.leaveIntent(ctx, &t, tenantID)
		if err == nil {
			return v.removeIntent(ctx, t.Number, tenantID, version), nil
		}
		over = t.Number
	}
	return nil, errNotAnnounced
}

// leaveIntent leaves a write intent in Redis. It initializes the tenant there if nobody has.
func (v *Invalidator) leaveIntent(ctx context.Context, t *cluster.Term, tenantID int64) (version int64, err error) {
	for range int(initTime / initPause) {
		bounded, cancel := v.options.bounded(ctx)
		version, ok, err := v.backend.BeginWrite(bounded, t.Number, tenantID)
		cancel()
		switch {
		case err != nil:
			v.health.lose(t.Number, err)
			return 0, errTermOver
		case !v.health.valid(t):
			return 0, errTermOver
		case ok:
			return version, nil
		}
		missing := Request{Claim: limits.Claim{TenantID: tenantID}, Reply: Reply{Status: Uninitialized}}
		known, err := v.init.initialize(ctx, t, &missing, v.options.Instant())
		if err != nil {
			return 0, err
		}
		if known {
			v.options.Sleep(initPause)
		}
	}
	v.health.lose(t.Number, errForgotten)
	return 0, errTermOver
}

// removeIntent returns what removes a write intent. Nobody waits for it: until the intent is gone, readers ask Postgres.
func (v *Invalidator) removeIntent(ctx context.Context, term, tenantID, version int64) (end func(settled bool)) {
	return func(settled bool) {
		if !settled || !v.options.Cluster.Valid(term) {
			return // The intent ends by itself, or with its term.
		}
		v.options.Go(func() {
			ctx, cancel := v.options.bounded(ctx)
			defer cancel()
			if err := v.backend.EndWrite(ctx, term, tenantID, version); err != nil {
				v.health.lose(term, err)
			}
		})
	}
}
