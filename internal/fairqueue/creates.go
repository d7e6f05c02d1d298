package fairqueue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"petstore.example/internal/catalog"
)

const (
	// maxCreates is the most animals that one call creates.
	maxCreates = 64
	// createsPerTenant is how many such calls of one tenant run at the same time.
	createsPerTenant = 2
)

// creates lets the creates of a tenant share calls: while createsPerTenant of them are under way, further ones gather in a batch, which is
// one call when one of them has ended. A lone create goes at once, without another goroutine.
//
// The request that leads a batch may be canceled while others are in it, so a batch has the time of a call and no other end.
type creates struct {
	store PetStore
	// turns bounds the calls of each tenant that create, and slots all of its calls.
	turns, slots *queue

	mu sync.Mutex
	// gathering has the batch of each tenant that a create can join.
	gathering map[int64]*batch
	// joined is how many creates have joined batches that are not sealed, without the leaders.
	joined int
}

// batch is one call. The first create to join leads it.
type batch struct {
	pets []catalog.NewPet
	// sealed is set when nobody else may join.
	sealed  bool
	created []catalog.Created
	// err is why the call was not made.
	err error
	// complete is closed when created or err is set; nil if only the leader waits for that.
	complete chan struct{}
}

func newCreates(store PetStore, slots *queue) *creates {
	o := Options{Slots: math.MaxInt, PerTenant: createsPerTenant, Timeout: slots.Timeout}
	return &creates{store: store, turns: newQueue(o), slots: slots, gathering: map[int64]*batch{}}
}

// create creates an animal, with those of the same tenant that gather meanwhile.
func (c *creates) create(ctx context.Context, tenantID int64, p catalog.NewPet) (catalog.Pet, error) {
	b, at := c.join(tenantID, p)
	if at == 0 {
		c.lead(ctx, tenantID, b)
	} else {
		<-b.complete
	}
	pet, err := b.outcome(at)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err) // Whoever hangs up has seen no outage.
	}
	return pet, err
}

// outcome returns what became of the animal at that place.
func (b *batch) outcome(at int) (catalog.Pet, error) {
	if b.err != nil {
		return catalog.Pet{}, b.err
	}
	return b.created[at].Pet, b.created[at].Err
}

// join returns the batch that the animal is in, and its place there.
func (c *creates) join(tenantID int64, p catalog.NewPet) (b *batch, at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b = c.gathering[tenantID]
	if b == nil || len(b.pets) == maxCreates {
		b = &batch{pets: make([]catalog.NewPet, 0, 1)}
		c.gathering[tenantID] = b
	} else {
		c.joined++
		if b.complete == nil {
			b.complete = make(chan struct{})
		}
	}
	b.pets = append(b.pets, p)
	return b, len(b.pets) - 1
}

// seal lets nobody else join the batch.
func (c *creates) seal(tenantID int64, b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.sealed {
		return
	}
	b.sealed = true
	c.joined -= len(b.pets) - 1
	if c.gathering[tenantID] == b {
		delete(c.gathering, tenantID)
	}
}

var errNotCreated = errors.New("the call that creates animals panicked")

// lead makes the call when the batch has its turn and a slot.
func (c *creates) lead(ctx context.Context, tenantID int64, b *batch) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.slots.Timeout)
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
			b.created = c.store.CreatePets(ctx, tenantID, b.pets)
			return nil
		})
	})
}

// waiting returns how many creates wait, apart from leaders that wait for a slot.
func (c *creates) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.joined + c.turns.waitingCalls()
}
