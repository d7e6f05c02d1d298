package fairqueue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"petstore.example/internal/catalog"
)

const (
	// maxShared is the most requests that share a call.
	maxShared = 64
	// sharedPerTenant is how many such calls of one tenant, of one kind, run at the same time.
	sharedPerTenant = 2
)

// shared lets requests of a tenant, of one kind, share calls: while sharedPerTenant calls are under
// way, further requests gather in a batch, which is one call when one of them has ended. A lone
// request goes at once, without another goroutine.
//
// The request that leads a batch may be canceled while others are in it, so a batch has the time of
// a call and no other end.
type shared[Asked, Result any] struct {
	// call does what several requests ask for. It returns what became of each: one that can't be
	// done does not prevent the others.
	call func(ctx context.Context, tenantID int64, asked []Asked) []catalog.Outcome[Result]
	// turns bounds the calls of each tenant of this kind, and slots all of its calls.
	turns, slots *queue

	mu sync.Mutex
	// gathering has the batch of each tenant that a request can join.
	gathering map[int64]*batch[Asked, Result]
	// joined is how many requests have joined batches that are not sealed, without the leaders.
	joined int
}

// batch is one call. The first request to join leads it.
type batch[Asked, Result any] struct {
	asked []Asked
	// sealed is set when nobody else may join.
	sealed   bool
	outcomes []catalog.Outcome[Result]
	// err is why the call was not made.
	err error
	// complete is closed when outcomes or err is set; nil if only the leader waits for that.
	complete chan struct{}
}

func newShared[Asked, Result any](
	slots *queue, call func(ctx context.Context, tenantID int64, asked []Asked) []catalog.Outcome[Result],
) *shared[Asked, Result] {
	o := Options{Slots: math.MaxInt, PerTenant: sharedPerTenant, Timeout: slots.Timeout}
	return &shared[Asked, Result]{
		call:      call,
		turns:     newQueue(o),
		slots:     slots,
		gathering: map[int64]*batch[Asked, Result]{},
	}
}

// do does what one request asks for, with those of the same tenant that gather meanwhile.
func (s *shared[Asked, Result]) do(ctx context.Context, tenantID int64, a Asked) (Result, error) {
	b, at := s.join(tenantID, a)
	if at == 0 {
		s.lead(ctx, tenantID, b)
	} else {
		<-b.complete
	}
	outcome := catalog.Outcome[Result]{Err: b.err}
	if b.err == nil {
		outcome = b.outcomes[at]
	}
	if outcome.Err != nil && ctx.Err() != nil {
		outcome.Err = fmt.Errorf("%w: %w", ctx.Err(), outcome.Err) // Whoever hangs up has seen no outage.
	}
	return outcome.Result, outcome.Err
}

// join returns the batch that the request is in, and its place there.
func (s *shared[Asked, Result]) join(tenantID int64, a Asked) (b *batch[Asked, Result], at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b = s.gathering[tenantID]
	if b == nil || len(b.asked) == maxShared {
		b = &batch[Asked, Result]{asked: make([]Asked, 0, 1)}
		s.gathering[tenantID] = b
	} else {
		s.joined++
		if b.complete == nil {
			b.complete = make(chan struct{})
		}
	}
	b.asked = append(b.asked, a)
	return b, len(b.asked) - 1
}

// seal lets nobody else join the batch.
func (s *shared[Asked, Result]) seal(tenantID int64, b *batch[Asked, Result]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.sealed {
		return
	}
	b.sealed = true
	s.joined -= len(b.asked) - 1
	if s.gathering[tenantID] == b {
		delete(s.gathering, tenantID)
	}
}

var errPanicked = errors.New("the call panicked")

// lead makes the call when the batch has its turn and a slot. It goes on if the leader disconnects,
// but not beyond the leader's deadline.
func (s *shared[Asked, Result]) lead(ctx context.Context, tenantID int64, b *batch[Asked, Result]) {
	end := time.Now().Add(s.slots.Timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(end) {
		end = earlier
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	b.err = errPanicked
	// Also after a panic: nobody must wait for ever.
	defer func() {
		s.seal(tenantID, b)
		if b.complete != nil {
			close(b.complete)
		}
	}()
	b.err = s.turns.run(ctx, tenantID, func(ctx context.Context) error {
		return s.slots.run(ctx, tenantID, func(ctx context.Context) error {
			s.seal(tenantID, b)
			b.outcomes = s.call(ctx, tenantID, b.asked)
			return nil
		})
	})
}

// waiting returns how many requests wait, apart from leaders that wait for a slot.
func (s *shared[Asked, Result]) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.joined + s.turns.waitingCalls()
}
