package plans

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/cluster"
)

// Cluster is this server's part in the agreement on who decides: a *cluster.Member.
type Cluster interface {
	// Term returns the term in force; false between two terms, and when the lease has run out. It is called for every request.
	Term() (cluster.Term, bool)
	// Valid reports whether the term of that number is still in force.
	Valid(number int64) bool
	// StoreUnreachable reports whether no term can begin, because Postgres does not answer.
	StoreUnreachable() bool
	// Await waits until a term is in force.
	Await(ctx context.Context) (cluster.Term, error)
	// SetRedis says which Redis this server sees, "" for none.
	SetRedis(fingerprint string)
	// OnEnd has f called when a term has ended, before this server acknowledges the next: Valid says so already.
	OnEnd(f func(ctx context.Context, ended cluster.Term) error)
}

var _ Cluster = (*cluster.Member)(nil)

var (
	// errOver: the term ended before there was an answer. The next one decides.
	errOver = errors.New("the term is over")
	// errBetween: no term began in time.
	errBetween = errors.New("no term has begun")
	// errAway: no term can begin.
	errAway = errors.New("no term can begin without Postgres")
)

// retryTerm is the pause before a term that should be over is looked at again.
const retryTerm = 2 * time.Millisecond

// wait is how long one request has waited for terms.
type wait struct {
	// over is a term that could not decide, 0 for none; until is when to give up, zero as long as nothing was waited for.
	over  int64
	until time.Time
	tries int
}

// term returns the term to decide in.
func (r *Redis) term(ctx context.Context, w *wait) (cluster.Term, error) {
	t, ok := r.cluster.Term()
	if !ok || t.Number == r.health.lost.Load() || t.Number == w.over {
		return r.awaitTerm(ctx, w)
	}
	if t.Number != r.health.noted.Load() {
		r.note(&t)
	}
	return t, nil
}

// awaitTerm waits for a term that this server can decide by. One in which it lost Redis is over in a moment, and one that
// could not decide is tried again after a pause.
func (r *Redis) awaitTerm(ctx context.Context, w *wait) (cluster.Term, error) {
	if r.options.Wait < 0 {
		return r.termNow(w)
	}
	if w.until.IsZero() {
		w.until = r.clock().Add(r.options.Wait)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), w.until)
	defer cancel()
	for {
		if r.cluster.StoreUnreachable() {
			return cluster.Term{}, errAway
		}
		t, err := r.cluster.Await(ctx)
		if err != nil {
			return cluster.Term{}, r.noTerm()
		}
		again := t.Number == w.over
		w.over = 0
		if !again && t.Number != r.health.lost.Load() {
			r.note(&t)
			return t, nil
		}
		if !r.clock().Before(w.until) {
			return cluster.Term{}, r.noTerm()
		}
		r.pause(retryTerm)
	}
}

// termNow is awaitTerm without waiting.
func (r *Redis) termNow(w *wait) (cluster.Term, error) {
	t, ok := r.cluster.Term()
	w.tries++
	if !ok || t.Number == r.health.lost.Load() || w.tries > 2 {
		return cluster.Term{}, r.noTerm()
	}
	w.over = 0
	r.note(&t)
	return t, nil
}

func (r *Redis) noTerm() error {
	if r.cluster.StoreUnreachable() {
		return errAway
	}
	return errBetween
}

// ended reports what this server knows at the end of a term. What was seen is reported until it is heard; what is given back
// once.
func (r *Redis) ended(ctx context.Context, t cluster.Term) error {
	reports := r.ledger.close(&t)
	if len(reports) > 0 {
		if err := r.counterStore.Report(ctx, reports); err != nil {
			return fmt.Errorf("report what was used: %w", err)
		}
	}
	r.ledger.reported(t.Number)
	return nil
}
