package plans

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"
)

func isDegraded(changes int64) bool { return changes%2 == 1 }

// lose turns to degraded after a failed call that began when changes had that value: a call that began before the last
// change says nothing of Redis as it is now.
func (r *Redis) lose(changes, tenantID int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if isDegraded(changes) || r.changes.Load() != changes {
		return
	}
	r.changes.Add(1)
	r.since, r.lost = time.Now(), tenantID
	r.options.Log.Warn().Err(err).Msg("limits: degraded, because Redis does not answer: deciding in this process")
	r.wakeMender()
}

// regain turns back to Redis.
func (r *Redis) regain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes.Add(1)
	r.options.Log.Info().Dur("away", time.Since(r.since)).Msg("limits: Redis is back")
}

func (r *Redis) wakeMender() {
	select {
	case r.wake <- struct{}{}:
	default: // It is awake, or about to be.
	}
}

// mend waits until there is something to mend: Redis was lost, or something was decided without it. Then it tries until
// Redis is back and knows all that was admitted meanwhile. It alone probes, so no request waits for a Redis that may
// still be away.
func (r *Redis) mend(ctx context.Context) {
	defer close(r.stopped)
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for !r.mended(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(r.options.ProbeEvery):
			}
		}
	}
}

// mended makes one attempt and reports whether nothing is left to do.
func (r *Redis) mended(ctx context.Context) bool {
	if isDegraded(r.changes.Load()) {
		// Most of the work is done before any decision is left to Redis again.
		if r.probe(ctx) != nil || !r.settle(ctx) {
			return false
		}
		r.regain()
	}
	// Requests that were decided here while the others were settled. Each tenant goes back to Redis when it owes nothing.
	changes := r.changes.Load()
	for !isDegraded(changes) {
		if len(r.ledger.debtors()) == 0 {
			return r.changes.Load() == changes
		}
		if !r.settle(ctx) {
			return false
		}
	}
	return false
}

// settle tells Redis of the requests it has not seen, tenant by tenant, and reports whether it took them all.
func (r *Redis) settle(ctx context.Context) bool {
	for _, tenantID := range r.ledger.debtors() {
		b, owes := r.ledger.debt(tenantID, r.nextBatch)
		if !owes {
			continue
		}
		changes := r.changes.Load()
		u, err := r.addBack(ctx, b)
		if err != nil {
			r.lose(changes, tenantID, err)
			return false
		}
		r.ledger.settled(b, u)
	}
	return true
}

// probe asks Redis to add nothing for the tenant whose call failed: that needs the same node and the same right to run
// scripts and to write as a decision does.
func (r *Redis) probe(ctx context.Context) error {
	r.mu.Lock()
	lost := r.lost
	r.mu.Unlock()
	_, err := r.addBack(ctx, batch{tenantID: lost, sequence: r.nextBatch()})
	return err
}

func (r *Redis) addBack(ctx context.Context, b batch) (used, error) {
	keys := []string{
		minuteKey(b.tenantID, b.minute), dayKey(b.tenantID, b.day),
		"pst:{" + strconv.FormatInt(b.tenantID, 10) + "}:b:" + r.server,
	}
	return r.run(ctx, addBackScript, keys, b.add.minute, b.add.day, b.sequence)
}

func (r *Redis) nextBatch() int64 { return r.batches.Add(1) }

// newServerName returns a name that no other process has.
func newServerName() string { return rand.Text() }
