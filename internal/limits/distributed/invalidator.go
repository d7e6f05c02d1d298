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
	mode    *redisMode
}

var _ freshness.Invalidator = (*Invalidator)(nil)

// BeginWrite implements freshness.Invalidator. It shares an intent that this server has in Redis, or leaves one.
//
// If a write ends late, its intent may be gone, and lists from before it may be cached under the current stamp. It is then announced once
// more before it is acknowledged, which changes the stamp. If that fails, it is not acknowledged, and freshness.Outcomes tries again.
func (v *Invalidator) BeginWrite(ctx context.Context, tenantID int64) (*freshness.Write, error) {
	began := v.options.Clock()
	in, err := v.announce(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	if in != nil {
		began = in.left
	}
	return freshness.NewWrite(func(settled bool) (err error) {
		if v.options.Clock().Sub(began) >= lateWrite {
			var again *intent
			if again, err = v.announce(ctx, tenantID); again != nil {
				again.end(settled)
			}
		}
		if in != nil {
			in.end(settled)
		}
		return err
	}), nil
}

// RemoveOver is one step of the removal of write intents that are over, for tests that run step by step.
func (v *Invalidator) RemoveOver() { v.mode.removeOver() }

// announce tells readers that a write begins. The intent is nil in a term in which Postgres decides.
func (v *Invalidator) announce(ctx context.Context, tenantID int64) (*intent, error) {
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
			return nil, nil //nolint:nilnil // There is no intent, and none is needed.
		}
		if in := v.mode.intents.share(t.Number, tenantID, 0, 1); in != nil {
			if v.health.valid(&t) {
				return in, nil
			}
			in.end(false)
			over = t.Number
			continue
		}
		left := v.options.Clock()
		version, err := v.leaveIntent(ctx, &t, tenantID)
		if err == nil {
			return v.mode.intents.add(intent{term: t.Number, tenantID: tenantID, version: version, left: left, writes: 1}), nil
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
