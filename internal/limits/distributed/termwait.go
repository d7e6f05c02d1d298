package distributed

import (
	"context"
	"time"

	"petstore.example/internal/cluster"
)

// retryTerm is the pause before a term that should be over is looked at again.
const retryTerm = 2 * time.Millisecond

// termWait returns the term to decide in, and waits for one if necessary.
type termWait struct {
	options *Options
	health  *redisHealth
}

// waited is how long one request has waited for terms.
type waited struct {
	// over is a term that could not decide, 0 for none. until is when to give up; it is zero before the first wait.
	over  int64
	until time.Time
}

// term returns the term to decide in.
func (w *termWait) term(ctx context.Context, so *waited) (cluster.Term, error) {
	t, ok := w.options.Cluster.Term()
	if !ok || w.health.over(t.Number) || t.Number == so.over {
		return w.await(ctx, so)
	}
	w.health.note(&t)
	return t, nil
}

// await waits for a term that this server can decide in. One in which it lost Redis ends in a moment, and one that could not decide is
// tried again after a pause.
func (w *termWait) await(ctx context.Context, so *waited) (cluster.Term, error) {
	if so.until.IsZero() {
		so.until = w.options.Clock().Add(w.options.Wait)
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), so.until)
	defer cancel()
	for {
		if w.options.Cluster.StoreUnreachable() {
			return cluster.Term{}, errStoreUnreachable
		}
		t, err := w.options.Cluster.Await(ctx)
		if err != nil {
			return cluster.Term{}, w.none()
		}
		again := t.Number == so.over
		so.over = 0
		if !again && !w.health.over(t.Number) {
			w.health.note(&t)
			return t, nil
		}
		if !w.options.Clock().Before(so.until) {
			return cluster.Term{}, w.none()
		}
		w.options.Sleep(retryTerm)
	}
}

func (w *termWait) none() error {
	if w.options.Cluster.StoreUnreachable() {
		return errStoreUnreachable
	}
	return errNoTerm
}
