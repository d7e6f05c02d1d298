package fairqueue

import (
	"context"
	"fmt"
	"math"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/usage"
)

// PetStore is a store of animals that can create or change several with one call.
type PetStore interface {
	catalog.Store
	// CreatePets is CreatePet for several animals. It returns what became of each: one that can't
	// be created does not prevent the others.
	CreatePets(ctx context.Context, tenantID int64, pets []catalog.NewPet) []catalog.Outcome[catalog.Pet]
	// ChangePets is ChangePet for several changes that depend on nothing, as if one after the
	// other.
	ChangePets(ctx context.Context, tenantID int64, changes []catalog.PetChange) []catalog.Outcome[catalog.Pet]
}

// OrderStore is a catalog.OrderStore that can place several orders with one call.
type OrderStore interface {
	catalog.OrderStore
	// PlaceOrders is PlaceOrder for several orders, as if one after the other.
	PlaceOrders(ctx context.Context, tenantID int64, orders []catalog.NewOrder) []catalog.Outcome[catalog.Order]
}

// OnceStore is a catalog.OnceStore that can create several animals, or place several orders, with
// one call.
type OnceStore interface {
	catalog.OnceStore
	// CreatePetsOnce is CreatePetOnce for several animals, as CreatePets is CreatePet.
	CreatePetsOnce(
		ctx context.Context,
		tenantID int64,
		pets []catalog.Once[catalog.NewPet, catalog.Pet],
	) []catalog.Outcome[catalog.Answered]
	// PlaceOrdersOnce is PlaceOrderOnce for several orders, as PlaceOrders is PlaceOrder.
	PlaceOrdersOnce(
		ctx context.Context,
		tenantID int64,
		orders []catalog.Once[catalog.NewOrder, catalog.Order],
	) []catalog.Outcome[catalog.Answered]
}

// Stores are the stores behind a Store.
type Stores struct {
	Pets     PetStore
	Orders   OrderStore
	Requests OnceStore
	Usage    usage.MonthStore
	Keys     KeyStore
	Failed   usage.FailedReader
}

// KeyStore has the keys of tenants for themselves.
type KeyStore interface {
	// List returns the keys that the asker may see.
	List(ctx context.Context, tenantID int64, asker keys.Digest, q keys.OwnQuery) ([]keys.Own, error)
	// Change makes a change, with once only once, and returns the key.
	Change(
		ctx context.Context,
		tenantID int64,
		asker keys.Digest,
		c keys.OwnChange,
		once *catalog.Idempotency,
	) (keys.Own, error)
}

// Store is all of Stores, with the calls of each tenant in a queue.
type Store struct {
	stores Stores
	queue  *queue
	// places are those of reads that count in no window and of changes of keys, and revocations
	// those of revocations, which wait for no other.
	places, revocations *queue
	creates             *shared[catalog.NewPet, catalog.Pet]
	// changes has those that depend on nothing.
	changes *shared[catalog.PetChange, catalog.Pet]
	orders  *shared[catalog.NewOrder, catalog.Order]
	// These have an idempotency key.
	createsOnce *shared[catalog.Once[catalog.NewPet, catalog.Pet], catalog.Answered]
	ordersOnce  *shared[catalog.Once[catalog.NewOrder, catalog.Order], catalog.Answered]
}

var (
	_ catalog.Store      = (*Store)(nil)
	_ catalog.OrderStore = (*Store)(nil)
	_ catalog.OnceStore  = (*Store)(nil)
	_ usage.MonthStore   = (*Store)(nil)
	_ usage.FailedReader = (*Store)(nil)
)

// New returns a Store before those stores.
func New(s Stores, o Options) *Store {
	q := newQueue(o)
	places := Options{Slots: math.MaxInt, PerTenant: o.Places, Timeout: o.Timeout, Mark: o.Mark}
	return &Store{
		s,
		q,
		newQueue(places),
		newQueue(places),
		newShared(q, s.Pets.CreatePets),
		newShared(q, s.Pets.ChangePets),
		newShared(q, s.Orders.PlaceOrders),
		newShared(q, s.Requests.CreatePetsOnce),
		newShared(q, s.Requests.PlaceOrdersOnce),
	}
}

// Waiting returns how many calls wait for their turn.
func (s *Store) Waiting() int {
	return s.queue.waitingCalls() + s.places.waitingCalls() + s.revocations.waitingCalls() +
		s.creates.waiting() + s.changes.waiting() + s.orders.waiting() +
		s.createsOnce.waiting() + s.ordersOnce.waiting()
}

// ListPets implements catalog.Store.
func (s *Store) ListPets(
	ctx context.Context,
	tenantID int64,
	p catalog.Page,
) (pets []catalog.Pet, next int64, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		pets, next, err = s.stores.Pets.ListPets(ctx, tenantID, p)
		return err
	})
	return pets, next, err
}

// GetPet implements catalog.Store.
func (s *Store) GetPet(ctx context.Context, tenantID, id int64) (catalog.Pet, error) {
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (catalog.Pet, error) {
		return s.stores.Pets.GetPet(ctx, tenantID, id)
	})
}

// CreatePet implements catalog.Store.
func (s *Store) CreatePet(ctx context.Context, tenantID int64, p catalog.NewPet) (catalog.Pet, error) {
	return s.creates.do(ctx, tenantID, p)
}

// ChangePet implements catalog.Store.
func (s *Store) ChangePet(ctx context.Context, tenantID, id int64, c catalog.PetPatch) (catalog.Pet, error) {
	if c.DependsOnNothing() {
		return s.changes.do(ctx, tenantID, catalog.PetChange{ID: id, PetPatch: c})
	}
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (catalog.Pet, error) {
		return s.stores.Pets.ChangePet(ctx, tenantID, id, c)
	})
}

// ListOrders implements catalog.OrderStore.
func (s *Store) ListOrders(
	ctx context.Context,
	tenantID int64,
	p catalog.OrderPage,
) (orders []catalog.Order, more bool, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		orders, more, err = s.stores.Orders.ListOrders(ctx, tenantID, p)
		return err
	})
	return orders, more, err
}

// GetOrder implements catalog.OrderStore.
func (s *Store) GetOrder(ctx context.Context, tenantID, id int64) (catalog.Order, error) {
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (catalog.Order, error) {
		return s.stores.Orders.GetOrder(ctx, tenantID, id)
	})
}

// PlaceOrder implements catalog.OrderStore.
func (s *Store) PlaceOrder(ctx context.Context, tenantID int64, o catalog.NewOrder) (catalog.Order, error) {
	return s.orders.do(ctx, tenantID, o)
}

// ChangeOrder implements catalog.OrderStore.
func (s *Store) ChangeOrder(ctx context.Context, tenantID, id int64, c catalog.OrderPatch) (catalog.Order, error) {
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (catalog.Order, error) {
		return s.stores.Orders.ChangeOrder(ctx, tenantID, id, c)
	})
}

// CreatePetOnce implements catalog.OnceStore.
func (s *Store) CreatePetOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewPet, catalog.Pet],
) (catalog.Answered, error) {
	return s.createsOnce.do(ctx, tenantID, o)
}

// PlaceOrderOnce implements catalog.OnceStore.
func (s *Store) PlaceOrderOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewOrder, catalog.Order],
) (catalog.Answered, error) {
	return s.ordersOnce.do(ctx, tenantID, o)
}

// UsageMonth implements usage.MonthStore.
func (s *Store) UsageMonth(ctx context.Context, tenantID int64, now time.Time) (usage.Month, error) {
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (usage.Month, error) {
		return s.stores.Usage.UsageMonth(ctx, tenantID, now)
	})
}

// UsageReport implements usage.MonthStore.
func (s *Store) UsageReport(ctx context.Context, tenantID int64, month, now time.Time) (usage.Report, error) {
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (usage.Report, error) {
		return s.stores.Usage.UsageReport(ctx, tenantID, month, now)
	})
}

// ListKeys returns the keys that the asker may see.
func (s *Store) ListKeys(ctx context.Context, tenantID int64, asker keys.Digest, q keys.OwnQuery) ([]keys.Own, error) {
	return placed(ctx, s, tenantID, func(ctx context.Context) ([]keys.Own, error) {
		return s.stores.Keys.List(ctx, tenantID, asker, q)
	})
}

// ChangeKey makes a change of the asker's keys, in a place as a read of them.
func (s *Store) ChangeKey(
	ctx context.Context, tenantID int64, asker keys.Digest, c keys.OwnChange, once *catalog.Idempotency,
) (keys.Own, error) {
	change := func(ctx context.Context) (keys.Own, error) {
		return s.stores.Keys.Change(ctx, tenantID, asker, c, once)
	}
	if c.Action == "key.revoke" {
		return queued(ctx, s.revocations, tenantID, func(ctx context.Context) (keys.Own, error) {
			return queued(s.marked(ctx), s.queue, tenantID, change)
		})
	}
	return placed(ctx, s, tenantID, change)
}

// ListFailed implements usage.FailedReader.
func (s *Store) ListFailed(
	ctx context.Context,
	tenantID int64,
	p usage.FailedPage,
) (list []usage.FailedRequest, more bool, err error) {
	err = s.placed(ctx, tenantID, func(ctx context.Context) (err error) {
		list, more, err = s.stores.Failed.ListFailed(ctx, tenantID, p)
		return err
	})
	return list, more, err
}

// GetFailed implements usage.FailedReader.
func (s *Store) GetFailed(
	ctx context.Context,
	tenantID int64,
	id string,
	since, now time.Time,
) (usage.FailedDetail, error) {
	return placed(ctx, s, tenantID, func(ctx context.Context) (usage.FailedDetail, error) {
		return s.stores.Failed.GetFailed(ctx, tenantID, id, since, now)
	})
}

// ReplayHours implements usage.FailedReader.
func (s *Store) ReplayHours(ctx context.Context, tenantID int64, now time.Time) ([]usage.Hour, error) {
	return placed(ctx, s, tenantID, func(ctx context.Context) ([]usage.Hour, error) {
		return s.stores.Failed.ReplayHours(ctx, tenantID, now)
	})
}

// queued makes a call with one result when it has a slot.
func queued[T any](
	ctx context.Context,
	q *queue,
	tenantID int64,
	call func(context.Context) (T, error),
) (result T, err error) {
	err = q.run(ctx, tenantID, func(ctx context.Context) error {
		result, err = call(ctx)
		return err
	})
	return result, err
}

type hasPlace struct{}

// Place has call run in a place of the tenant's, in which its reads that count in no window need no
// other. The error is catalog.ErrManyReads if there was none in time.
func (s *Store) Place(ctx context.Context, tenantID int64, call func(context.Context) error) error {
	if ctx.Value(hasPlace{}) != nil {
		return call(ctx)
	}
	entered := false
	err := s.places.run(ctx, tenantID, func(ctx context.Context) error {
		entered = true
		return call(context.WithValue(s.marked(ctx), hasPlace{}, true))
	})
	if err != nil && !entered && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", catalog.ErrManyReads, err)
	}
	return err
}

// marked is the context of a call in a place.
func (s *Store) marked(ctx context.Context) context.Context {
	if s.places.Mark == nil {
		return ctx
	}
	return s.places.Mark(ctx)
}

// placed makes a call that counts in no window when it has a place and a slot.
func (s *Store) placed(ctx context.Context, tenantID int64, call func(context.Context) error) error {
	return s.Place(ctx, tenantID, func(ctx context.Context) error { return s.queue.run(ctx, tenantID, call) })
}

func placed[T any](
	ctx context.Context,
	s *Store,
	tenantID int64,
	call func(context.Context) (T, error),
) (result T, err error) {
	err = s.placed(ctx, tenantID, func(ctx context.Context) error {
		result, err = call(ctx)
		return err
	})
	return result, err
}

// Run makes another call for a tenant in its turn; 0 stands for all whose tenant is not known. The
// error is catalog.ErrNotMade if it was not made.
func (s *Store) Run(ctx context.Context, tenantID int64, call func(context.Context) error) error {
	return s.queue.run(ctx, tenantID, call)
}
