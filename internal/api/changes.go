package api

import (
	"context"
	"errors"

	"petstore.example/internal/catalog"
	"petstore.example/internal/plans"
)

// changes tells plans.Versions of every change of a catalogue before it is made and when it is over, so that no list from
// before is given from memory after. It stands before the store for all handlers: whatever changes animals or orders
// passes here.
type changes struct {
	catalog.Store
	catalog.OrderStore
	requests catalog.OnceStore
	versions plans.Versions
}

// watch has all changes told, where there is anybody to tell.
func (c *Config) watch() {
	if c.Versions == nil {
		return
	}
	w := &changes{c.Pets, c.Orders, c.Requests, c.Versions}
	c.Pets, c.Orders, c.Requests = w, w, w
}

// tell runs a change between its two notices.
func (c *changes) tell(ctx context.Context, tenantID int64, change func() error) error {
	done, err := c.begin(ctx, tenantID)
	if err != nil {
		return err
	}
	outcome := errUnknown
	// Also when change panics.
	defer func() { done(settled(outcome)) }()
	outcome = change()
	return outcome
}

// begin returns a 503 when readers can't be told: then nothing may change.
func (c *changes) begin(ctx context.Context, tenantID int64) (done func(settled bool), err error) {
	if done, err = c.versions.Change(ctx, tenantID); err != nil {
		return nil, codeUnavailable.withCause(err).retryAfter(1)
	}
	return done, nil
}

var errUnknown = errors.New("the change has not ended")

// settled reports whether an outcome says for certain that the change was made or was not. It does when it is one of the
// domain's: these are found out before the commit, and then there is none. Of a connection that broke or a time that was
// over nobody knows.
func settled(outcome error) bool {
	if outcome == nil {
		return true
	}
	if _, ok := errors.AsType[*catalog.TransitionError](outcome); ok {
		return true
	}
	for _, known := range []error{
		catalog.ErrPetNotFound, catalog.ErrOrderNotFound, catalog.ErrPetNotAvailable,
		catalog.ErrIdempotencyInProgress, catalog.ErrIdempotencyKeyReused,
	} {
		if errors.Is(outcome, known) {
			return true
		}
	}
	return false
}

// CreatePet implements catalog.Store.
func (c *changes) CreatePet(ctx context.Context, tenantID int64, n catalog.NewPet) (pet catalog.Pet, err error) {
	err = c.tell(ctx, tenantID, func() (err error) {
		pet, err = c.Store.CreatePet(ctx, tenantID, n)
		return err
	})
	return pet, err
}

// ChangePet implements catalog.Store.
func (c *changes) ChangePet(ctx context.Context, tenantID, id int64, p catalog.PetPatch) (pet catalog.Pet, err error) {
	err = c.tell(ctx, tenantID, func() (err error) {
		pet, err = c.Store.ChangePet(ctx, tenantID, id, p)
		return err
	})
	return pet, err
}

// PlaceOrder implements catalog.OrderStore.
func (c *changes) PlaceOrder(ctx context.Context, tenantID int64, n catalog.NewOrder) (order catalog.Order, err error) {
	err = c.tell(ctx, tenantID, func() (err error) {
		order, err = c.OrderStore.PlaceOrder(ctx, tenantID, n)
		return err
	})
	return order, err
}

// ChangeOrder implements catalog.OrderStore.
func (c *changes) ChangeOrder(ctx context.Context, tenantID, id int64, to catalog.OrderStatus) (order catalog.Order, err error) {
	err = c.tell(ctx, tenantID, func() (err error) {
		order, err = c.OrderStore.ChangeOrder(ctx, tenantID, id, to)
		return err
	})
	return order, err
}

// Once implements catalog.OnceStore. With a key the change is told from within, so that an answer that is given again, which
// changes nothing, is none.
func (c *changes) Once(
	ctx context.Context, tenantID int64, r *catalog.Idempotency, work func(context.Context, catalog.Creator) (catalog.Answer, error),
) (a catalog.Answer, replayed bool, err error) {
	var done func(settled bool)
	outcome := errUnknown
	defer func() {
		if done != nil {
			done(settled(outcome))
		}
	}()
	a, replayed, outcome = c.requests.Once(ctx, tenantID, r, func(ctx context.Context, creator catalog.Creator) (a catalog.Answer, err error) {
		if done == nil { // It may be called a second time.
			if done, err = c.begin(ctx, tenantID); err != nil {
				return a, err
			}
		}
		return work(ctx, creator)
	})
	return a, replayed, outcome
}
