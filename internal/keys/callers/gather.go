package callers

import (
	"context"
	"sync"
	"time"

	"petstore.example/internal/keys"
)

const (
	// MaxQueries is the number of queries for known callers that are under way at the same time.
	// Other keys have as many.
	MaxQueries = 4
	// maxBatch is the most callers that a query looks up.
	maxBatch = 64
)

// lookupID is the same for look-ups that can share a result: those of one digest, at one version of
// the feed, that began at about the same time.
type lookupID struct {
	digest  keys.Digest
	version uint64
	began   time.Duration
}

// lookup is the look-up of one caller, for all requests that wait for it.
type lookup struct {
	lookupID
	// wanted is when the first request asked for it. ctx has the values of that request's context,
	// but is never canceled.
	wanted time.Time
	ctx    context.Context
	// waiters is the number of requests that wait. sent says that its query was sent. Both are
	// guarded by the mutex of gathering.
	waiters int
	sent    bool
	// done is closed when found or err is set, and nobody joins any more.
	done  chan struct{}
	found *entry
	err   error
}

// gathering lets look-ups share queries: while MaxQueries are under way, further ones gather. A
// query is sent after all of its look-ups have joined, so no result is older than the look-ups that
// get it. A caller that leaves does not end another's query.
type gathering struct {
	// query sets found or err of all look-ups of a batch.
	query func(batch []*lookup)

	mu sync.Mutex
	// open has the look-ups that can be joined: they wait, or their query is under way.
	open map[lookupID]*lookup
	// waiting has the look-ups that were not sent, the oldest first. Abandoned ones may be among
	// them.
	waiting []*lookup
	// running is the number of queries under way.
	running int
}

// join returns the look-up with that ID. Each call needs a call of leave.
func (g *gathering) join(ctx context.Context, id lookupID, now time.Time) *lookup {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.open[id]; l != nil {
		l.waiters++
		return l
	}
	l := &lookup{lookupID: id, wanted: now, ctx: context.WithoutCancel(ctx), waiters: 1, done: make(chan struct{})}
	if g.open == nil {
		g.open = map[lookupID]*lookup{}
	}
	g.open[id] = l
	if g.running < MaxQueries { // No look-up waits.
		g.running++
		l.sent = true
		go g.run([]*lookup{l})
		return l
	}
	// Abandoned look-ups are dropped. Otherwise strangers would fill the memory while the store
	// hangs.
	for len(g.waiting) > 0 && g.waiting[0].waiters == 0 {
		g.waiting = g.waiting[1:]
	}
	g.waiting = append(g.waiting, l)
	return l
}

// leave leaves the look-up. A look-up that nobody waits for is not sent.
func (g *gathering) leave(l *lookup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.waiters--
	if l.waiters == 0 && !l.sent {
		delete(g.open, l.lookupID)
	}
}

// isSent reports whether the query of the look-up was sent.
func (g *gathering) isSent(l *lookup) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return l.sent
}

// run sends the batch, and then further ones until no look-up waits.
func (g *gathering) run(batch []*lookup) {
	for len(batch) > 0 {
		g.query(batch)
		batch = g.next(batch)
	}
}

// next ends the look-ups of a batch whose query has ended, and returns the next batch, empty if
// there is none.
func (g *gathering) next(ended []*lookup) (batch []*lookup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range ended {
		delete(g.open, l.lookupID)
		close(l.done)
	}
	for len(g.waiting) > 0 && len(batch) < maxBatch {
		if l := g.waiting[0]; l.waiters > 0 {
			l.sent = true
			batch = append(batch, l)
		}
		g.waiting = g.waiting[1:]
	}
	if len(batch) == 0 {
		g.running--
		g.waiting = nil
	}
	return batch
}
