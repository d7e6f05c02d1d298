package freshness

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// MaxWrite is how long after its announcement a write may begin its commit.
	MaxWrite = 2500 * time.Millisecond
	// watchEvery is the interval between the looks of a Watch. watchTTL is how long a look counts.
	watchEvery = 500 * time.Millisecond
	watchTTL   = 2 * time.Second
	// oldAfter is the age from which a transaction may count as old. From twice that age on it
	// always does.
	oldAfter = 2 * time.Second
)

// Transactions are the store's writing transactions. They are numbered in the order in which they
// begin to write.
type Transactions interface {
	// UnderWay returns the number of the next transaction. changing is true if a transaction under
	// way changes a catalogue and began to write before UnderWay returned since, or at any time if
	// since is 0. Its writes may still become visible.
	UnderWay(ctx context.Context, since int64) (next int64, changing bool, err error)
}

// Watch tells whether a write is still under way although its intent may be over: its commit waits
// for a synchronous standby, or its process in the store stands still. There may be no server left
// to announce it, and no list may be cached before it has ended.
//
// An intent lasts for at least nine tenths of WriteIntentTTL from the start of a write. Within
// MaxWrite of that start, a write gets its transaction number or is never made. A look that begins
// MaxWrite and twice oldAfter after the start finds it. After another watchTTL no earlier look
// counts. The sum is less than the life of an intent.
//
// Clear may be called concurrently, for every list.
type Watch struct {
	transactions Transactions
	// seen has the latest look of at least oldAfter ago, and all later ones. Only Run uses it.
	seen []look
	// clearUntil is zero while an old write is under way.
	clearUntil atomic.Pointer[time.Time]
}

// look is one call of UnderWay: its time and the next transaction's number.
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

// look asks the store. After a failure nothing changes, and earlier looks soon no longer count.
func (w *Watch) look(ctx context.Context) {
	now := time.Now()
	for len(w.seen) > 1 && now.Sub(w.seen[1].at) >= oldAfter {
		w.seen = w.seen[1:]
	}
	since := int64(0) // Without an earlier look, each transaction may be old.
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
