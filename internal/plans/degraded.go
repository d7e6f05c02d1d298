package plans

import (
	"context"
	"crypto/rand"
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

func (r *Redis) wakeMender() {
	select {
	case r.wake <- struct{}{}:
	default: // It is awake, or about to be.
	}
}

// mend waits until there is something to mend: Redis was lost, or something was decided without it. Then it goes on until
// Redis decides again and knows all that was admitted meanwhile. It alone probes, so no request waits for a Redis that
// may still be away.
func (r *Redis) mend(ctx context.Context) {
	defer close(r.stopped)
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for isDegraded(r.changes.Load()) || !r.settle(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(r.options.ProbeEvery):
			}
			r.regain(ctx)
		}
	}
}

// regain turns back to Redis if it answers a probe and takes what it is owed.
func (r *Redis) regain(ctx context.Context) {
	if !isDegraded(r.changes.Load()) || r.probe(ctx) != nil || !r.settleOnce(ctx, r.ledger.debtors()) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes.Add(1)
	r.options.Log.Info().Dur("away", time.Since(r.since)).Msg("limits: Redis is back and decides again")
}

// settle tells Redis of everything it has to be told, and reports whether it knows it all now. While Redis decides this
// ends: a tenant of whom it knows all is Redis's again.
func (r *Redis) settle(ctx context.Context) bool {
	for {
		debtors := r.ledger.debtors()
		if len(debtors) == 0 {
			return true
		}
		if !r.settleOnce(ctx, debtors) {
			return false
		}
	}
}

// settleOnce tells Redis of those tenants, as things are now, and reports whether it took it all.
func (r *Redis) settleOnce(ctx context.Context, debtors []int64) bool {
	for _, tenantID := range debtors {
		b, owes := r.ledger.debt(tenantID, r.nextBatch)
		if !owes {
			continue
		}
		changes := r.changes.Load()
		if ctx.Err() != nil {
			return false
		}
		u, err := r.addBack(ctx, b)
		if err != nil {
			r.lose(changes, tenantID, err)
			return false
		}
		r.ledger.settled(b, u)
	}
	return true
}

// probe tells Redis nothing of the tenant whose call failed: that needs the same node and the same right to run
// scripts and to write as a decision does.
func (r *Redis) probe(ctx context.Context) error {
	r.mu.Lock()
	lost := r.lost
	r.mu.Unlock()
	_, err := r.addBack(ctx, batch{tenantID: lost, sequence: r.nextBatch()})
	return err
}

func (r *Redis) addBack(ctx context.Context, b batch) (used, error) {
	minute, day := minuteKey(b.tenantID, b.minute), dayKey(b.tenantID, b.day)
	keys := []string{minute, day, minute + ":raised", day + ":raised", r.batchKey(b.tenantID)}
	return r.run(ctx, addBackScript, keys, b.add.minute, b.add.day, b.seen.minute, b.seen.day, b.sequence)
}

func (r *Redis) nextBatch() int64 { return r.batches.Add(1) }

// newServerName returns a name that no other process has.
func newServerName() string { return rand.Text() }
