package plans

import (
	"context"
	"crypto/rand"
	"time"
)

// answersToRegain is how often a lost Redis has to answer before it decides again. Other servers may find it back a
// moment later than this one, and what they admitted meanwhile is not in its counters before.
const answersToRegain = 10

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
			if !r.regain(ctx) {
				return
			}
		}
	}
}

// regain probes Redis until it has answered often enough, and lets it decide again. It returns false when ctx ends first.
func (r *Redis) regain(ctx context.Context) bool {
	for answers := 0; answers < answersToRegain; {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(r.options.ProbeEvery):
		}
		if r.probe(ctx) == nil && r.settle(ctx) {
			answers++
		} else {
			answers = 0
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes.Add(1)
	r.options.Log.Info().Dur("away", time.Since(r.since)).Msg("limits: Redis is back and decides again")
	return true
}

// settle tells Redis of all tenants of whom it has to be told something, as things are now, and reports whether it took
// it all.
func (r *Redis) settle(ctx context.Context) bool {
	for _, tenantID := range r.ledger.debtors() {
		changes := r.changes.Load()
		if ctx.Err() != nil {
			return false
		}
		if err := r.tell(ctx, tenantID); err != nil {
			r.lose(changes, tenantID, err)
			return false
		}
	}
	return true
}

// tell tells Redis what it has to be told of one tenant, if anything. Any number of callers may do so at a time: they
// send the same batch, which counts once.
func (r *Redis) tell(ctx context.Context, tenantID int64) error {
	b, owes := r.ledger.debt(tenantID, r.nextBatch)
	if !owes {
		return nil
	}
	u, err := r.addBack(ctx, b, r.batchKey(tenantID))
	if err != nil {
		return err
	}
	r.ledger.settled(b, u)
	return nil
}

// probe tells Redis nothing of the tenant whose call failed: that needs the same node and the same right to run scripts
// and to write as a decision does.
func (r *Redis) probe(ctx context.Context) error {
	r.mu.Lock()
	lost := r.lost
	r.mu.Unlock()
	_, err := r.addBack(ctx, batch{tenantID: lost, sequence: r.nextBatch()}, r.probeKey(lost))
	return err
}

func (r *Redis) addBack(ctx context.Context, b batch, batchKey string) (used, error) {
	minute, day := minuteKey(b.tenantID, b.minute), dayKey(b.tenantID, b.day)
	keys := []string{minute, day, minute + ":raised", day + ":raised", batchKey}
	return r.run(ctx, addBackScript, keys, b.add.minute, b.add.day, b.seen.minute, b.seen.day, b.sequence)
}

func (r *Redis) nextBatch() int64 { return r.batches.Add(1) }

// newServerName returns a name that no other process has.
func newServerName() string { return rand.Text() }
