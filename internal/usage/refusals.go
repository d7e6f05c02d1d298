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
	// refusalInterval is the time between two writes, and floodInterval between two of the same key while it is flooding.
	refusalInterval = time.Second
	floodInterval   = 10 * time.Second
	// firstRefusals of a key are kept between two writes, and the last; where the reason changes, up to mostRefusals.
	firstRefusals = 4
	mostRefusals  = 10
	// maxRefusals is the most that a server writes at once, and so in a second.
	maxRefusals = 200
	// refusalShards locks hold at most refusalKeys keys each.
	refusalShards = 16
	refusalKeys   = 256
)

// Refusals keeps some of the refusals that a server decides, so that support can say why: of each key the first few and the
// last between two writes, those at which the reason changed, and how many it left out. All are counted by a Meter; a flood of refusals costs no more here
// than finding its key in a map. What it holds, and what it writes in a second, is bounded: refusals of more keys than that
// are not kept. All methods are safe for concurrent use.
type Refusals struct {
	store    RefusalStore
	serverID string
	clock    func() time.Time

	seed   maphash.Seed
	shards [refusalShards]refusalShard

	// flushing guards what follows, and lets one write run at a time.
	flushing  sync.Mutex
	number    int64
	unwritten []RefusalRecord
}

type refusalShard struct {
	mu   sync.Mutex
	keys map[string]*keyRefusals
}

// recent is what came of one key since it was last written.
type keyRefusals struct {
	records []RefusalRecord
	last    Refusal
	hasLast bool
	// suppressed is how many came between those kept and the last.
	suppressed int64
	// flooding is true when some were left out.
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

// Add notes a refusal. It waits for nothing but other callers of it.
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
	// It may be part of a string that holds all of the request, its key too.
	refusal.RequestID = strings.Clone(refusal.RequestID)
	k.add(refusal)
}

func (k *keyRefusals) add(refusal Refusal) {
	switch {
	case !k.hasLast && len(k.records) < firstRefusals:
		k.records = append(k.records, RefusalRecord{Refusal: refusal})
		return
	case k.hasLast && (refusal.Code != k.last.Code || refusal.Window != k.last.Window) && len(k.records)+2 < mostRefusals:
		k.records = append(k.records, RefusalRecord{Refusal: k.last, Suppressed: k.suppressed}, RefusalRecord{Refusal: refusal})
		k.hasLast, k.suppressed = false, 0
		return
	case k.hasLast:
		k.suppressed++
		k.flooding = true
	}
	k.last, k.hasLast = refusal, true
}

// Run writes every second what was noted, until ctx ends, and then once more. What can't be written is kept, as far as its
// bounds allow, and tried again.
func (r *Refusals) Run(ctx context.Context) error {
	ticker := time.NewTicker(refusalInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			// What is not yet due is written too.
			return r.flush(context.WithoutCancel(ctx), r.clock().Add(floodInterval))
		case <-ticker.C:
			// The meter, which writes to the same store, tells of its outages.
			_ = r.Flush(context.WithoutCancel(ctx))
		}
	}
}

// Flush writes what was noted and is due. After an error it is still there.
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

// drainInto appends what is due. Keys of which nothing came since they were written are forgotten.
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
