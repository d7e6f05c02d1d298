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
	// failedInterval is the time between two writes, floodInterval the same for a key with a flood.
	failedInterval = time.Second
	floodInterval  = 5 * time.Second
	// Between two writes, the first firstFailed requests of a key and the last one are kept. If the
	// reason changes, up to maxPerWrite are.
	firstFailed = 4
	maxPerWrite = 10
	// maxFailed is the most requests of known keys in a write, and so in a second.
	maxFailed = 200
	// Each of failedShards holds at most failedKeys keys.
	failedShards = 16
	failedKeys   = 256
)

// FailedRequests records some of a server's failed requests, so that support can explain them.
// Between two writes it keeps for each key the first few requests, the last one, those at which the
// reason changed, and the number of the others. Each request of a flood costs a look-up in a map.
// Requests without an existing key share a small budget. So the memory and the writes in a second
// are bounded; anything beyond is dropped. All methods are safe for concurrent use.
type FailedRequests struct {
	store    FailedStore
	serverID string
	clock    func() time.Time

	seed   maphash.Seed
	shards [failedShards]failedShard
	// These are the budgets of requests without an existing key. refused is for those that the
	// limit of their address refused, strangers for the others.
	strangers, refused strangerBudget

	// flushing guards the following fields and allows one write at a time.
	flushing sync.Mutex
	number   int64
	// firstShard is the shard with which the next write begins.
	firstShard int
	unwritten  []FailedRequest
}

type failedShard struct {
	mu   sync.Mutex
	keys map[string]*keyFailed
}

// keyFailed are the failed requests of one key since they were last written.
type keyFailed struct {
	records []FailedRequest
	// last is the last request. Its ID is in lastID, whose memory is reused, so a flood allocates
	// nothing.
	last    FailedRequest
	lastID  []byte
	hasLast bool
	// suppressed is the number of requests dropped between the kept ones and last.
	suppressed int64
	// flooding is true if some were suppressed.
	flooding bool
	// notBefore is the earliest instant of the key's next write.
	notBefore time.Time
}

// NewFailedRequests returns a recorder that writes to the store. Nothing is written before Run or
// Flush.
func NewFailedRequests(store FailedStore, o Options) *FailedRequests {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	r := &FailedRequests{store: store, serverID: o.ServerID, clock: o.Clock, seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].keys = map[string]*keyFailed{}
	}
	r.strangers.begin(o.Clock())
	r.refused.begin(o.Clock())
	return r
}

// Add records a failed request. It does no I/O.
func (r *FailedRequests) Add(f FailedRequest) {
	switch {
	case f.KeyID != "":
		r.shards[maphash.String(r.seed, f.KeyID)%failedShards].add(f)
	case f.Window != "":
		r.refused.add(f)
	default:
		r.strangers.add(f)
	}
}

func (s *failedShard) add(f FailedRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[f.KeyID]
	if k == nil {
		if len(s.keys) >= failedKeys {
			return
		}
		k = &keyFailed{}
		s.keys[f.KeyID] = k
	}
	k.add(f)
}

func (k *keyFailed) add(f FailedRequest) {
	switch {
	case !k.hasLast && len(k.records) < firstFailed:
		k.records = append(k.records, owned(f))
		return
	case k.hasLast && (f.Code != k.last.Code || f.Window != k.last.Window || f.Reason != k.last.Reason) &&
		len(k.records)+2 < maxPerWrite:
		k.records = append(k.records, k.lastOne(), owned(f))
		k.hasLast, k.suppressed = false, 0
		return
	case k.hasLast:
		k.suppressed++
		k.flooding = true
	}
	k.last, k.hasLast = f, true
	k.lastID = append(k.lastID[:0], f.RequestID...)
	k.last.RequestID = ""
}

// owned returns the request with a copy of its ID. The original may be part of a string that holds
// the whole request, including its key.
func owned(f FailedRequest) FailedRequest {
	f.RequestID = strings.Clone(f.RequestID)
	return f
}

func (k *keyFailed) lastOne() FailedRequest {
	f := k.last
	f.RequestID, f.Suppressed = string(k.lastID), k.suppressed
	return f
}

// Run writes every second until ctx ends, and then the rest. It retries failed writes.
func (r *FailedRequests) Run(ctx context.Context) error {
	ticker := time.NewTicker(failedInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			// At this time everything is due.
			return r.flush(context.WithoutCancel(ctx), r.clock().Add(floodInterval))
		case <-ticker.C:
			// The Meter logs outages of the store.
			_ = r.Flush(context.WithoutCancel(ctx))
		}
	}
}

// Flush writes what is due. After an error, the next call writes it.
func (r *FailedRequests) Flush(ctx context.Context) error { return r.flush(ctx, r.clock()) }

func (r *FailedRequests) flush(ctx context.Context, now time.Time) error {
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
	if err := r.store.WriteFailed(ctx, r.unwritten); err != nil {
		return fmt.Errorf("write failed requests: %w", err)
	}
	r.unwritten = nil
	return nil
}

// collect takes what is due at now: at most maxFailed requests of known keys, and as many as the
// strangers' budgets allow. If there is more, the next write begins where this one ended, so that
// every key gets its turn. It is called with r.flushing held.
func (r *FailedRequests) collect(now time.Time) (due []FailedRequest) {
	first, more := r.firstShard, false
	for i := range failedShards {
		shard := (first + i) % failedShards
		var left bool
		due, left = r.shards[shard].drainInto(due, now)
		if left && !more {
			// If the first shard alone filled the write, the next shard has its turn.
			r.firstShard = (first + max(i, 1)) % failedShards
			more = true
		}
	}
	due = r.strangers.drainInto(due, now)
	due = r.refused.drainInto(due, now)
	for i := range due {
		r.number++
		due[i].ServerID, due[i].Number = r.serverID, r.number
	}
	return due
}

// drainInto appends what is due, in random order, and reports whether something is left because
// there was no room. It drops keys without failed requests since their last write.
func (s *failedShard) drainInto(due []FailedRequest, now time.Time) (_ []FailedRequest, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, k := range s.keys {
		if now.Before(k.notBefore) {
			continue
		}
		if len(k.records) == 0 {
			delete(s.keys, id)
			continue
		}
		if len(due)+len(k.records)+1 > maxFailed {
			left = true
			continue
		}
		due = append(due, k.records...)
		if k.hasLast {
			due = append(due, k.lastOne())
		}
		next := &keyFailed{lastID: k.lastID}
		if k.flooding {
			next.notBefore = now.Add(floodInterval)
		}
		s.keys[id] = next
	}
	return due, left
}
