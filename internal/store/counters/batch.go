package counters

import (
	"context"
	"errors"
	"slices"
	"sync"

	"petstore.example/internal/store/pgconn"
)

const (
	// transactions is how many a server has under way for changes. With two, one waits for Postgres
	// while the other one commits.
	transactions = 2
	// changesAtOnce bounds how long the rows of one transaction stay locked.
	changesAtOnce = 500
)

// waiting are changes that go with the next transaction.
type waiting struct {
	mu       sync.Mutex
	underWay int
	changes  []*change
}

// join adds a change to those that wait, unless its caller is to begin a transaction with it.
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

// next returns what the next transaction makes when one is over; nothing if nobody waits.
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
// that wait. A caller whose context ends does not know whether it was made.
func (s Store) change(ctx context.Context, c *change) error {
	if s.waiting.join(c) {
		defer s.goOn() // Also after a panic: nobody must wait for ever.
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

// goOn ends a transaction's place. If changes wait, it goes to them.
func (s Store) goOn() {
	next := s.waiting.next()
	if len(next) == 0 {
		return
	}
	go func() {
		for len(next) > 0 {
			s.make(context.Background(), next) // Each transaction has a time limit of its own.
			next = s.waiting.next()
		}
	}()
}

// make makes changes in one transaction. None fails or waits for another's reason: if Postgres
// refuses one, or somebody else has locked its rows, it has a transaction of its own.
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
