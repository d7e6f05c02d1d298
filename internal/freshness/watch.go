package freshness

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// MaxWrite is how long after its announcement a write may begin its commit.
	MaxWrite = 2500 * time.Millisecond
	// watchEvery is how often a Watch looks, watchTTL how long what it saw is worth.
	watchEvery = 500 * time.Millisecond
	watchTTL   = 2 * time.Second
	// oldAfter is how long an old transaction has been under way at least. After twice that time
	// each is old.
	oldAfter = 2 * time.Second
)

// Transactions are those of the store that write. They are numbered in the order in which they
// begin to write.
type Transactions interface {
	// UnderWay returns the number of the next transaction, and whether one is under way that
	// changes a catalogue and began to write before UnderWay returned since; 0 for any. What it
	// wrote may still become visible.
	UnderWay(ctx context.Context, since int64) (next int64, changing bool, err error)
}

// Watch tells whether a write whose intent may be over is still under way: its commit waits for a
// synchronous standby, or its process in the store stands still. Nobody may announce it any more,
// and no list may be cached before it has ended.
//
// An intent lasts for at least nine tenths of WriteIntentTTL from when a write begins. MaxWrite
// from then on the write has a number, or never will. A look that begins MaxWrite and twice
// oldAfter later finds it, and watchTTL after it no earlier look counts: together less than an
// intent lasts.
//
// Clear may be called concurrently, for every list.
type Watch struct {
	transactions Transactions
	// seen are earlier looks, the first of them those that are old. Only Run uses it.
	seen []look
	// clearUntil is zero while an old write is under way.
	clearUntil atomic.Pointer[time.Time]
}

// look is when the store was asked for its next number, and that number.
type look struct {
	at   time.Time
	next int64
}

// NewWatch returns a Watch that is not clear before Run has looked.
func NewWatch(t Transactions) *Watch {
	w := &Watch{transactions: t}
	w.clearUntil.Store(&time.Time{})
	return w
}

// Clear reports whether no old write is under way.
func (w *Watch) Clear() bool { return time.Now().Before(*w.clearUntil.Load()) }

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// look asks the store. A failure changes nothing: what was seen before is soon worth nothing.
func (w *Watch) look(ctx context.Context) {
	now := time.Now()
	for len(w.seen) > 1 && now.Sub(w.seen[1].at) >= oldAfter {
		w.seen = w.seen[1:]
	}
	since := int64(0) // Without an earlier look each may be old.
	if len(w.seen) > 0 {
		if age := now.Sub(w.seen[0].at); age >= oldAfter && age <= 2*oldAfter {
			since = w.seen[0].next
		}
	}
	next, changing, err := w.transactions.UnderWay(ctx, since)
	if err != nil {
		return
	}
	w.seen = append(w.seen, look{now, next})
	until := now.Add(watchTTL)
	if changing {
		until = time.Time{}
	}
	w.clearUntil.Store(&until)
}
