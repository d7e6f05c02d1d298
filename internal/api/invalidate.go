package api

import (
	"context"
	"errors"
	"slices"
	"time"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
)

// invalidatingStore wraps the stores and announces every change of a tenant's catalogue to the
// Invalidator. After that no older list is served from the cache. All changes of animals and orders
// go through it.
type invalidatingStore struct {
	catalog.Store
	catalog.OrderStore
	requests    catalog.OnceStore
	invalidator freshness.Invalidator
}

// invalidateOnWrite wraps the stores in an invalidatingStore, if there is an Invalidator.
func (c *Config) invalidateOnWrite() {
	if c.Invalidator == nil {
		return
	}
	c.announcer, _ = c.Limiter.(limits.WriteLimiter)
	s := &invalidatingStore{c.Pets, c.Orders, c.Requests, c.Invalidator}
	c.Pets, c.Orders, c.Requests = s, s, s
}

// write makes a change within a write intent. The change's context ends when the change may no
// longer be made.
func (s *invalidatingStore) write(
	ctx context.Context,
	tenantID int64,
	k freshness.Kind,
	change func(context.Context) error,
) (outcome error) {
	ctx = writeDeadline{ctx, time.Now().Add(freshness.MaxWrite)}
	write, err := s.invalidator.BeginWrite(ctx, tenantID, k)
	if err != nil { // Without an announcement readers would not know of the write.
		return problem.Unavailable.WithCause(err).RetryAfter(1)
	}
	outcome = errUnknown
	// The write ends even if change panics.
	defer func() { outcome = endWrite(write, outcome) }()
	outcome = change(ctx)
	return outcome
}

// writeDeadline is a request's context with a deadline that is only read: a timer would cost 3 % of
// a write. Postgres refuses a commit after the deadline, and each call is bounded by
// statement_timeout and the connection's read timeout.
type writeDeadline struct {
	context.Context
	end time.Time
}

func (d writeDeadline) Deadline() (time.Time, bool) { return d.end, true }

// endWrite ends the write and returns its outcome, or a 503 with a code of its own. It returns the
// 503 if the outcome is unknown, or if the change was made so late that readers may not know of it:
// then the client must not be told that it was made.
func endWrite(write *freshness.Write, outcome error) error {
	if !isCertain(outcome) {
		write.Abandon()
		if problem.Of(outcome).Code == problem.Unavailable {
			return problem.OutcomeUnknown.WithCause(outcome).RetryAfter(1)
		}
		return outcome
	}
	if err := write.Commit(); err != nil && outcome == nil {
		return problem.OutcomeUnknown.WithCause(err).RetryAfter(1)
	}
	return outcome
}

var errUnknown = errors.New("the outcome of the write is unknown")

// isCertain reports whether the outcome says for certain if the change was made. The domain's
// errors do: they are found before the commit. After a broken connection or a timeout the outcome
// is uncertain, unless the store says that the change was not made.
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
// have got a 503 because its change was announced too late, and then the replay announces the
// animal.
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
