package api

import (
	"context"
	"errors"

	"petstore.example/internal/catalog"
	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
)

// invalidatingStore stands before the stores and announces every change of a tenant's catalogue to the Invalidator,
// so that no list from before is served from the cache after it. Everything that changes animals or orders passes here.
type invalidatingStore struct {
	catalog.Store
	catalog.OrderStore
	requests    catalog.OnceStore
	invalidator freshness.Invalidator
}

// invalidateOnWrite puts an invalidatingStore before the stores, if there is an Invalidator.
func (c *Config) invalidateOnWrite() {
	if c.Invalidator == nil {
		return
	}
	c.announcer, _ = c.Limiter.(limits.WriteLimiter)
	s := &invalidatingStore{c.Pets, c.Orders, c.Requests, c.Invalidator}
	c.Pets, c.Orders, c.Requests = s, s, s
}

// write makes a change within a write intent.
func (s *invalidatingStore) write(ctx context.Context, tenantID int64, change func() error) (outcome error) {
	write, err := s.beginWrite(ctx, tenantID)
	if err != nil {
		return err
	}
	outcome = errUnknown
	// Also when change panics.
	defer func() { outcome = endWrite(write, outcome) }()
	outcome = change()
	return outcome
}

// beginWrite returns a 503 if readers can't be told of the write: then nothing may change.
func (s *invalidatingStore) beginWrite(ctx context.Context, tenantID int64) (*freshness.Write, error) {
	write, err := s.invalidator.BeginWrite(ctx, tenantID)
	if err != nil {
		return nil, codeUnavailable.withCause(err).retryAfter(1)
	}
	return write, nil
}

// endWrite returns the outcome, or a 503 if the change was made so late that readers may not know of it: then nobody is told that it was.
func endWrite(write *freshness.Write, outcome error) error {
	if !isCertain(outcome) {
		write.Abandon()
		return outcome
	}
	if err := write.Commit(); err != nil && outcome == nil {
		return codeUnavailable.withCause(err).retryAfter(1)
	}
	return outcome
}

var errUnknown = errors.New("the outcome of the write is unknown")

// isCertain reports whether an outcome says for certain that the change was made, or that it was not. The domain's errors do: they
// are found before the commit, and then there is none. After a broken connection or a timeout nobody knows.
func isCertain(outcome error) bool {
	if outcome == nil {
		return true
	}
	for _, known := range []error{
		catalog.ErrPetNotFound, catalog.ErrOrderNotFound, catalog.ErrPetNotAvailable, catalog.ErrInvalidTransition,
		catalog.ErrPreconditionFailed,
		catalog.ErrIdempotencyInProgress, catalog.ErrIdempotencyKeyReused,
	} {
		if errors.Is(outcome, known) {
			return true
		}
	}
	return false
}

// CreatePet implements catalog.Store.
func (s *invalidatingStore) CreatePet(ctx context.Context, tenantID int64, n catalog.NewPet) (pet catalog.Pet, err error) {
	err = s.write(ctx, tenantID, func() (err error) {
		pet, err = s.Store.CreatePet(ctx, tenantID, n)
		return err
	})
	return pet, err
}

// ChangePet implements catalog.Store.
func (s *invalidatingStore) ChangePet(ctx context.Context, tenantID, id int64, p catalog.PetPatch) (pet catalog.Pet, err error) {
	err = s.write(ctx, tenantID, func() (err error) {
		pet, err = s.Store.ChangePet(ctx, tenantID, id, p)
		return err
	})
	return pet, err
}

// PlaceOrder implements catalog.OrderStore.
func (s *invalidatingStore) PlaceOrder(ctx context.Context, tenantID int64, n catalog.NewOrder) (order catalog.Order, err error) {
	err = s.write(ctx, tenantID, func() (err error) {
		order, err = s.OrderStore.PlaceOrder(ctx, tenantID, n)
		return err
	})
	return order, err
}

// ChangeOrder implements catalog.OrderStore.
func (s *invalidatingStore) ChangeOrder(ctx context.Context, tenantID, id int64, c catalog.OrderPatch) (order catalog.Order, err error) {
	err = s.write(ctx, tenantID, func() (err error) {
		order, err = s.OrderStore.ChangeOrder(ctx, tenantID, id, c)
		return err
	})
	return order, err
}

// CreatePetOnce implements catalog.OnceStore. A replay, which changes nothing, has an intent too: who asks knows only afterwards.
func (s *invalidatingStore) CreatePetOnce(
	ctx context.Context, tenantID int64, o catalog.Once[catalog.NewPet, catalog.Pet],
) (answered catalog.Answered, err error) {
	err = s.write(ctx, tenantID, func() (err error) {
		answered, err = s.requests.CreatePetOnce(ctx, tenantID, o)
		return err
	})
	return answered, err
}

// PlaceOrderOnce implements catalog.OnceStore.
func (s *invalidatingStore) PlaceOrderOnce(
	ctx context.Context, tenantID int64, o catalog.Once[catalog.NewOrder, catalog.Order],
) (answered catalog.Answered, err error) {
	err = s.write(ctx, tenantID, func() (err error) {
		answered, err = s.requests.PlaceOrderOnce(ctx, tenantID, o)
		return err
	})
	return answered, err
}
