package fairqueue

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"petstore.example/internal/catalog"
)

// Options are the bounds of a Store.
type Options struct {
	// Slots is the number of calls that run at the same time, PerTenant how many of them one tenant
	// may have.
	Slots, PerTenant int
	// Timeout bounds a call that has to wait, including the wait.
	Timeout time.Duration
	// Places is how many reads that count in no window, and changes of keys, one tenant may have at
	// the same time. A call of Place counts as one. Mark, unless it is nil, marks the contexts of
	// these calls.
	Places int
	Mark   func(context.Context) context.Context
}

// queue gives slots to calls of tenants.
type queue struct {
	Options

	mu               sync.Mutex
	running, waiting int
	// tenants are the tenants with running or waiting calls.
	tenants map[int64]*tenant
	// turns are the tenants that wait and may run another call, in the order of their turns. It is
	// empty while a slot is free.
	turns *list.List
}

// tenant is guarded by queue.mu.
type tenant struct {
	running int
	// waiting has a chan struct{} for each waiting call, which is closed when the call gets a slot.
	waiting *list.List
	// turn is the tenant's element of queue.turns, nil if it is not there.
	turn *list.Element
}

func newQueue(o Options) *queue {
	return &queue{Options: o, tenants: map[int64]*tenant{}, turns: list.New()}
}

// run makes the call when it has a slot. Its error is catalog.ErrNotMade if no slot was free in
// time.
func (q *queue) run(ctx context.Context, tenantID int64, call func(context.Context) error) error {
	t, ready, waiting := q.enter(tenantID)
	if waiting != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, q.Timeout)
		defer cancel()
		if err := q.await(ctx, ready); err != nil && q.leave(tenantID, t, waiting) {
			return fmt.Errorf("wait for the tenant's other calls: %w: %w", catalog.ErrNotMade, err)
		}
	}
	// The slot is released even if the call panics.
	defer q.release(tenantID, t)
	return call(ctx)
}

// await waits for a slot until a quarter of the timeout remains before ctx ends. A call with less
// time would often fail, and would hold the slot meanwhile.
func (q *queue) await(ctx context.Context, ready <-chan struct{}) error {
	end, _ := ctx.Deadline()
	limit := time.NewTimer(time.Until(end) - q.Timeout/4)
	defer limit.Stop()
	select {
	case <-ready:
		return nil
	case <-limit.C:
		return context.DeadlineExceeded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter takes a slot, or a position in the tenant's line. In the line, waiting is not nil, and
// ready is closed when there is a slot.
func (q *queue) enter(tenantID int64) (t *tenant, ready chan struct{}, waiting *list.Element) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t = q.tenants[tenantID]
	if t == nil {
		t = &tenant{waiting: list.New()}
		q.tenants[tenantID] = t
	}
	if q.running < q.Slots && t.running < q.PerTenant {
		q.start(t)
		return t, nil, nil
	}
	ready = make(chan struct{})
	waiting = t.waiting.PushBack(ready)
	q.waiting++
	q.addTurn(t)
	return t, ready, waiting
}

// leave leaves the line. It returns false if the call got its slot meanwhile.
func (q *queue) leave(tenantID int64, t *tenant, waiting *list.Element) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-waiting.Value.(chan struct{}):
		return false
	default:
	}
	t.waiting.Remove(waiting)
	q.waiting--
	if t.waiting.Len() == 0 && t.turn != nil {
		q.turns.Remove(t.turn)
		t.turn = nil
	}
	q.forget(tenantID, t)
	return true
}

// release frees a slot of the tenant, and gives it to the tenant whose turn it is.
func (q *queue) release(tenantID int64, t *tenant) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	t.running--
	q.addTurn(t)
	if first := q.turns.Front(); first != nil {
		next := q.turns.Remove(first).(*tenant)
		next.turn = nil
		q.waiting--
		close(next.waiting.Remove(next.waiting.Front()).(chan struct{}))
		q.start(next)
		q.addTurn(next)
	}
	q.forget(tenantID, t)
}

func (q *queue) start(t *tenant) {
	q.running++
	t.running++
}

// addTurn gives the tenant the last turn, if it has none and may run a waiting call.
func (q *queue) addTurn(t *tenant) {
	if t.turn == nil && t.waiting.Len() > 0 && t.running < q.PerTenant {
		t.turn = q.turns.PushBack(t)
	}
}

func (q *queue) forget(tenantID int64, t *tenant) {
	if t.running == 0 && t.waiting.Len() == 0 {
		delete(q.tenants, tenantID)
	}
}

// waitingCalls returns the number of calls without a slot.
func (q *queue) waitingCalls() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}
