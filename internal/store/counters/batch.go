package counters

import (
	"context"
	"errors"
	"slices"
	"sync"

	"petstore.example/internal/store/pgconn"
)

const (
	// transactions is how many transactions with changes a server has under way. With two, one
	// waits for Postgres while the other commits.
	transactions = 2
	// changesAtOnce is the maximum number of changes in a transaction. It bounds how long their
	// rows stay locked.
	changesAtOnce = 500
)

// waiting are the changes for the next transaction.
type waiting struct {
	mu       sync.Mutex
	underWay int
	changes  []*change
}

// join adds a change to the waiting ones. But if begins is true, it does not: the caller must begin
// a transaction with the change.
func (w *waiting) join(c *change) (begins bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.underWay < transactions {
		w.underWay++
		return true
	}
	w.changes = append(w.changes, c)
	return false
}

// next returns the changes for the next transaction when one has ended; none if no change waits.
func (w *waiting) next() []*change {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.changes), changesAtOnce)
	next := slices.Clone(w.changes[:n])
	w.changes = slices.Delete(w.changes, 0, n)
	if n == 0 {
		w.underWay--
	}
	return next
}

// leave removes a change that no transaction has taken yet.
func (w *waiting) leave(c *change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.changes, c); i >= 0 {
		w.changes = slices.Delete(w.changes, i, i+1)
	}
}

// change makes a change: at once if few transactions are under way, otherwise together with all
// waiting ones. A caller whose context ends does not know whether its change was made.
func (s Store) change(ctx context.Context, c *change) error {
	if s.waiting.join(c) {
		defer s.goOn() // Deferred, because nobody must wait for ever after a panic.
		s.make(ctx, []*change{c})
		return c.err
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		s.waiting.leave(c)
		return pgconn.Translate(ctx.Err())
	}
}

// goOn gives the place of an ended transaction to the waiting changes.
func (s Store) goOn() {
	next := s.waiting.next()
	if len(next) == 0 {
		return
	}
	go func() {
		for len(next) > 0 {
			s.make(context.Background(), next) // make limits the time itself.
			next = s.waiting.next()
		}
	}()
}

// make makes changes in one transaction. None fails or waits because of another: if Postgres
// refuses a change, or others have locked its rows, it gets a transaction of its own.
func (s Store) make(ctx context.Context, changes []*change) {
	err := s.commit(ctx, changes)
	together := len(changes) > 1
	if err != nil && together && !errors.Is(err, pgconn.ErrUnavailable) {
		for _, c := range changes {
			s.make(ctx, []*change{c})
		}
		return
	}
	for _, c := range changes {
		if err != nil {
			c.err = err
		}
		if together && errors.Is(c.err, errNoLimits) {
			go s.make(context.WithoutCancel(ctx), []*change{c})
			continue
		}
		close(c.done)
	}
}
