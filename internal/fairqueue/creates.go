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
	// maxCreates is the most creates that share a call.
	maxCreates = 64
	// createsPerTenant is how many such calls of one tenant, of one kind, run at the same time.
	createsPerTenant = 2
)

// creates lets the creates of a tenant share calls: while createsPerTenant of them are under way, further ones gather in a batch, which is
// one call when one of them has ended. A lone create goes at once, without another goroutine.
//
// The request that leads a batch may be canceled while others are in it, so a batch has the time of a call and no other end.
type creates[New, Result any] struct {
	// call creates several things. It returns what became of each: one that can't be created does not prevent the others.
	call func(ctx context.Context, tenantID int64, news []New) []catalog.Outcome[Result]
	// turns bounds the calls of each tenant that create, and slots all of its calls.
	turns, slots *queue

	mu sync.Mutex
	// gathering has the batch of each tenant that a create can join.
	gathering map[int64]*batch[New, Result]
	// joined is how many creates have joined batches that are not sealed, without the leaders.
	joined int
}

// batch is one call. The first create to join leads it.
type batch[New, Result any] struct {
	news []New
	// sealed is set when nobody else may join.
	sealed   bool
	outcomes []catalog.Outcome[Result]
	// err is why the call was not made.
	err error
	// complete is closed when outcomes or err is set; nil if only the leader waits for that.
	complete chan struct{}
}

func newCreates[New, Result any](
	slots *queue, call func(ctx context.Context, tenantID int64, news []New) []catalog.Outcome[Result],
) *creates[New, Result] {
	o := Options{Slots: math.MaxInt, PerTenant: createsPerTenant, Timeout: slots.Timeout}
	return &creates[New, Result]{call: call, turns: newQueue(o), slots: slots, gathering: map[int64]*batch[New, Result]{}}
}

// create creates one thing, with those of the same tenant that gather meanwhile.
func (c *creates[New, Result]) create(ctx context.Context, tenantID int64, n New) (Result, error) {
	b, at := c.join(tenantID, n)
	if at == 0 {
		c.lead(ctx, tenantID, b)
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

// join returns the batch that the create is in, and its place there.
func (c *creates[New, Result]) join(tenantID int64, n New) (b *batch[New, Result], at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b = c.gathering[tenantID]
	if b == nil || len(b.news) == maxCreates {
		b = &batch[New, Result]{news: make([]New, 0, 1)}
		c.gathering[tenantID] = b
	} else {
		c.joined++
		if b.complete == nil {
			b.complete = make(chan struct{})
		}
	}
	b.news = append(b.news, n)
	return b, len(b.news) - 1
}

// seal lets nobody else join the batch.
func (c *creates[New, Result]) seal(tenantID int64, b *batch[New, Result]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.sealed {
		return
	}
	b.sealed = true
	c.joined -= len(b.news) - 1
	if c.gathering[tenantID] == b {
		delete(c.gathering, tenantID)
	}
}

var errNotCreated = errors.New("the call panicked")

// lead makes the call when the batch has its turn and a slot. It goes on if the leader disconnects, but not beyond the leader's deadline.
func (c *creates[New, Result]) lead(ctx context.Context, tenantID int64, b *batch[New, Result]) {
	end := time.Now().Add(c.slots.Timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(end) {
		end = earlier
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	defer cancel()
	b.err = errNotCreated
	// Also after a panic: nobody must wait for ever.
	defer func() {
		c.seal(tenantID, b)
		if b.complete != nil {
			close(b.complete)
		}
	}()
	b.err = c.turns.run(ctx, tenantID, func(ctx context.Context) error {
		return c.slots.run(ctx, tenantID, func(ctx context.Context) error {
			c.seal(tenantID, b)
			b.outcomes = c.call(ctx, tenantID, b.news)
			return nil
		})
	})
}

// waiting returns how many creates wait, apart from leaders that wait for a slot.
func (c *creates[New, Result]) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.joined + c.turns.waitingCalls()
}
