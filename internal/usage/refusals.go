package usage

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

const (
	// refusalInterval is the time between two writes, floodInterval between two writes of a key that is
	// flooding.
	refusalInterval = time.Second
	floodInterval   = 10 * time.Second
	// Of a key, firstRefusals and the last are kept between two writes, and up to maxPerWrite if the reason
	// changes.
	firstRefusals = 4
	maxPerWrite   = 10
	// maxRefusals is the most that a server writes at once, that is in a second.
	maxRefusals = 200
	// Each of refusalShards holds at most refusalKeys keys.
	refusalShards = 16
	refusalKeys   = 256
)

// Refusals records some of a server's refusals, so that support can explain them. Between two writes it keeps
// the first few and the last of each key, those at which the reason changed, and the number of the others. A
// Meter counts all of them. A flood of refusals costs a look-up in a map. The memory and the writes in a
// second are bounded: refusals of further keys are dropped. All methods are safe for concurrent use.
type Refusals struct {
	store    RefusalStore
	serverID string
	clock    func() time.Time

	seed   maphash.Seed
	shards [refusalShards]refusalShard

	// flushing guards what follows and allows one write at a time.
	flushing  sync.Mutex
	number    int64
	unwritten []RefusalRecord
}

type refusalShard struct {
	mu   sync.Mutex
	keys map[string]*keyRefusals
}

// keyRefusals are those of one key since they were last written.
type keyRefusals struct {
	records []RefusalRecord
	last    Refusal
	hasLast bool
	// suppressed is how many came between the records and the last.
	suppressed int64
	// flooding is true if some were suppressed.
	flooding bool
	// notBefore is the instant before which it is not written again.
	notBefore time.Time
}

// NewRefusals returns a recorder that writes to the store. Nothing is written before Run or Flush.
func NewRefusals(store RefusalStore, o Options) *Refusals {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	r := &Refusals{store: store, serverID: o.ServerID, clock: o.Clock, seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].keys = map[string]*keyRefusals{}
	}
	return r
}

// Add records a refusal. It does no I/O.
func (r *Refusals) Add(refusal Refusal) {
	s := &r.shards[maphash.String(r.seed, refusal.KeyID)%refusalShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[refusal.KeyID]
	if k == nil {
		if len(s.keys) >= refusalKeys {
			return
		}
		k = &keyRefusals{}
		s.keys[refusal.KeyID] = k
	}
	// It may be part of a string with the whole request, including its key.
	refusal.RequestID = strings.Clone(refusal.RequestID)
	k.add(refusal)
}

func (k *keyRefusals) add(refusal Refusal) {
	switch {
	case !k.hasLast && len(k.records) < firstRefusals:
		k.records = append(k.records, RefusalRecord{Refusal: refusal})
		return
	case k.hasLast && (refusal.Code != k.last.Code || refusal.Window != k.last.Window) && len(k.records)+2 < maxPerWrite:
		k.records = append(k.records, RefusalRecord{Refusal: k.last, Suppressed: k.suppressed}, RefusalRecord{Refusal: refusal})
		k.hasLast, k.suppressed = false, 0
		return
	case k.hasLast:
		k.suppressed++
		k.flooding = true
	}
	k.last, k.hasLast = refusal, true
}

// Run writes every second until ctx ends, and then what is left. It retries failed writes.
func (r *Refusals) Run(ctx context.Context) error {
	ticker := time.NewTicker(refusalInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			// This makes everything due.
			return r.flush(context.WithoutCancel(ctx), r.clock().Add(floodInterval))
		case <-ticker.C:
			// The Meter logs outages of the store.
			_ = r.Flush(context.WithoutCancel(ctx))
		}
	}
}

// Flush writes what is due. After an error, the next call writes it.
func (r *Refusals) Flush(ctx context.Context) error { return r.flush(ctx, r.clock()) }

func (r *Refusals) flush(ctx context.Context, now time.Time) error {
	r.flushing.Lock()
	defer r.flushing.Unlock()
	if len(r.unwritten) == 0 {
		r.unwritten = r.collect(now)
	}
	if len(r.unwritten) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := r.store.WriteRefusals(ctx, r.unwritten); err != nil {
		return fmt.Errorf("write refusals: %w", err)
	}
	r.unwritten = nil
	return nil
}

// collect takes what is due at now, at most maxRefusals. The caller holds r.flushing.
func (r *Refusals) collect(now time.Time) (due []RefusalRecord) {
	for i := range r.shards {
		due = r.shards[i].drainInto(due, now)
	}
	for i := range due {
		r.number++
		due[i].ServerID, due[i].Number = r.serverID, r.number
	}
	return due
}

// drainInto appends what is due. It drops keys without refusals since they were written.
func (s *refusalShard) drainInto(due []RefusalRecord, now time.Time) []RefusalRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.keys {
		if now.Before(k.notBefore) || len(due)+len(k.records)+1 > maxRefusals {
			continue
		}
		if len(k.records) == 0 {
			delete(s.keys, id)
			continue
		}
		due = append(due, k.records...)
		next := &keyRefusals{}
		if k.hasLast {
			due = append(due, RefusalRecord{Refusal: k.last, Suppressed: k.suppressed})
		}
		if k.flooding {
			next.notBefore = now.Add(floodInterval)
		}
		s.keys[id] = next
	}
	return due
}
