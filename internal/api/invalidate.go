package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
)

// invalidatingStore stands before the stores and announces every change of a tenant's catalogue to
// the Invalidator, so that no list from before is served from the cache after it. Everything that
// changes animals or orders passes here.
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

// write makes a change within a write intent. The context of the change ends when it may not be
// made any more.
func (s *invalidatingStore) write(
	ctx context.Context,
	tenantID int64,
	k freshness.Kind,
	change func(context.Context) error,
) (outcome error) {
	ctx = deadline{ctx, time.Now().Add(freshness.MaxWrite)}
	write, err := s.invalidator.BeginWrite(ctx, tenantID, k)
	if err != nil { // Readers can't be told of the write: then nothing may change.
		return codeUnavailable.withCause(err).retryAfter(1)
	}
	outcome = errUnknown
	// Also when change panics.
	defer func() { outcome = endWrite(write, outcome) }()
	outcome = change(ctx)
	return outcome
}

// deadline is a request's context with a deadline that is looked at, and no timer, which costs 3 %
// of a write: Postgres refuses a commit after it, and statement_timeout and the reads of the
// connection bound each call.
type deadline struct {
	context.Context
	end time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.end, true }

// endWrite returns the outcome, a 503 of its own code if it is not known, or if the change was made
// so late that readers may not know of it: then nobody is told that it was.
func endWrite(write *freshness.Write, outcome error) error {
	if !isCertain(outcome) {
		write.Abandon()
		if toError(outcome).code == codeUnavailable {
			return codeOutcomeUnknown.withCause(outcome).retryAfter(1)
		}
		return outcome
	}
	if err := write.Commit(); err != nil && outcome == nil {
		return codeOutcomeUnknown.withCause(err).retryAfter(1)
	}
	return outcome
}

var errUnknown = errors.New("the outcome of the write is unknown")

// isCertain reports whether an outcome says for certain that the change was made, or that it was
// not. The domain's errors do: they are found before the commit, and nothing of this request is in
// it. After a broken connection or a timeout nobody knows, unless the store says that it was not
// made.
func isCertain(outcome error) bool {
	return outcome == nil || slices.ContainsFunc([]error{
		catalog.ErrPetNotFound, catalog.ErrOrderNotFound, catalog.ErrPetNotAvailable, catalog.ErrInvalidTransition,
		catalog.ErrPreconditionFailed, catalog.ErrNotMade,
		catalog.ErrIdempotencyInProgress, catalog.ErrIdempotencyKeyReused,
	}, func(known error) bool { return errors.Is(outcome, known) })
}

// written is write for a change with a result.
func written[T any](
	ctx context.Context,
	s *invalidatingStore,
	tenantID int64,
	k freshness.Kind,
	change func(context.Context) (T, error),
) (result T, err error) {
	err = s.write(ctx, tenantID, k, func(ctx context.Context) (err error) {
		result, err = change(ctx)
		return err
	})
	return result, err
}

// CreatePet implements catalog.Store.
func (s *invalidatingStore) CreatePet(ctx context.Context, tenantID int64, n catalog.NewPet) (catalog.Pet, error) {
	return written(
		ctx,
		s,
		tenantID,
		freshness.Adds,
		func(ctx context.Context) (catalog.Pet, error) { return s.Store.CreatePet(ctx, tenantID, n) },
	)
}

// ChangePet implements catalog.Store.
func (s *invalidatingStore) ChangePet(
	ctx context.Context,
	tenantID, id int64,
	p catalog.PetPatch,
) (catalog.Pet, error) {
	return written(
		ctx,
		s,
		tenantID,
		freshness.Changes,
		func(ctx context.Context) (catalog.Pet, error) { return s.Store.ChangePet(ctx, tenantID, id, p) },
	)
}

// PlaceOrder implements catalog.OrderStore.
func (s *invalidatingStore) PlaceOrder(ctx context.Context, tenantID int64, n catalog.NewOrder) (catalog.Order, error) {
	return written(
		ctx,
		s,
		tenantID,
		freshness.Changes,
		func(ctx context.Context) (catalog.Order, error) { return s.OrderStore.PlaceOrder(ctx, tenantID, n) },
	)
}

// ChangeOrder implements catalog.OrderStore.
func (s *invalidatingStore) ChangeOrder(
	ctx context.Context,
	tenantID, id int64,
	c catalog.OrderPatch,
) (catalog.Order, error) {
	return written(ctx, s, tenantID, freshness.Changes, func(ctx context.Context) (catalog.Order, error) {
		return s.OrderStore.ChangeOrder(ctx, tenantID, id, c)
	})
}

// CreatePetOnce implements catalog.OnceStore. A replay has an intent too: the first request may
// have been told 503 because its animal was announced too late, and then the replay announces it.
func (s *invalidatingStore) CreatePetOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewPet, catalog.Pet],
) (catalog.Answered, error) {
	return written(ctx, s, tenantID, freshness.Adds, func(ctx context.Context) (catalog.Answered, error) {
		return s.requests.CreatePetOnce(ctx, tenantID, o)
	})
}

// PlaceOrderOnce implements catalog.OnceStore.
func (s *invalidatingStore) PlaceOrderOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewOrder, catalog.Order],
) (catalog.Answered, error) {
	return written(ctx, s, tenantID, freshness.Changes, func(ctx context.Context) (catalog.Answered, error) {
		return s.requests.PlaceOrderOnce(ctx, tenantID, o)
	})
}
