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

// Stores are the stores behind a Store.
type Stores struct {
	Pets     catalog.Store
	Orders   catalog.OrderStore
	Requests catalog.OnceStore
	Usage    usage.MonthStore
	Keys     KeyStore
	Failed   usage.FailedReader
}

// KeyStore has the keys of tenants, for the tenants themselves.
type KeyStore interface {
	// List returns the keys that the requester may see.
	List(ctx context.Context, tenantID int64, requester keys.Digest, q keys.CustomerQuery) ([]keys.CustomerKey, error)
	// Change makes a change and returns the key. With once, the change is made only once.
	Change(
		ctx context.Context,
		tenantID int64,
		requester keys.Digest,
		c keys.CustomerChange,
		once *catalog.Idempotency,
	) (keys.CustomerKey, error)
}

// Store has all methods of Stores. The calls of each tenant wait in a queue.
type Store struct {
	stores Stores
	queue  *queue
	// places is for reads that count in no window and for changes of keys. revocations is for
	// revocations, so that they wait for no other call.
	places, revocations *queue
}

var (
	_ catalog.Store      = (*Store)(nil)
	_ catalog.OrderStore = (*Store)(nil)
	_ catalog.OnceStore  = (*Store)(nil)
	_ usage.MonthStore   = (*Store)(nil)
	_ usage.FailedReader = (*Store)(nil)
)

// New returns a Store in front of those stores.
func New(s Stores, o Options) *Store {
	q := newQueue(o)
	places := Options{Slots: math.MaxInt, PerTenant: o.Places, Timeout: o.Timeout, Mark: o.Mark}
	return &Store{s, q, newQueue(places), newQueue(places)}
}

// Waiting returns how many calls wait for their turn.
func (s *Store) Waiting() int {
	return s.queue.waitingCalls() + s.places.waitingCalls() + s.revocations.waitingCalls()
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
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (catalog.Pet, error) {
		return s.stores.Pets.CreatePet(ctx, tenantID, p)
	})
}

// ChangePet implements catalog.Store.
func (s *Store) ChangePet(ctx context.Context, tenantID, id int64, c catalog.PetPatch) (catalog.Pet, error) {
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
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (catalog.Order, error) {
		return s.stores.Orders.PlaceOrder(ctx, tenantID, o)
	})
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
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (catalog.Answered, error) {
		return s.stores.Requests.CreatePetOnce(ctx, tenantID, o)
	})
}

// PlaceOrderOnce implements catalog.OnceStore.
func (s *Store) PlaceOrderOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewOrder, catalog.Order],
) (catalog.Answered, error) {
	return queued(ctx, s.queue, tenantID, func(ctx context.Context) (catalog.Answered, error) {
		return s.stores.Requests.PlaceOrderOnce(ctx, tenantID, o)
	})
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

// ListKeys returns the keys that the requester may see.
func (s *Store) ListKeys(
	ctx context.Context,
	tenantID int64,
	requester keys.Digest,
	q keys.CustomerQuery,
) ([]keys.CustomerKey, error) {
	return placed(ctx, s, tenantID, func(ctx context.Context) ([]keys.CustomerKey, error) {
		return s.stores.Keys.List(ctx, tenantID, requester, q)
	})
}

// ChangeKey makes a change of the requester's keys. Like a read of them, it takes one of the
// tenant's places.
func (s *Store) ChangeKey(
	ctx context.Context, tenantID int64, requester keys.Digest, c keys.CustomerChange, once *catalog.Idempotency,
) (keys.CustomerKey, error) {
	change := func(ctx context.Context) (keys.CustomerKey, error) {
		return s.stores.Keys.Change(ctx, tenantID, requester, c, once)
	}
	if c.Action == "key.revoke" {
		return queued(ctx, s.revocations, tenantID, func(ctx context.Context) (keys.CustomerKey, error) {
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

// Place runs call in one of the tenant's places. Within call, reads that count in no window need no
// other place. The error is catalog.ErrManyReads if no place was free in time.
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

// placed makes a call that counts in no window, when it has a place and a slot.
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

// Run makes a call that is none of the above, in the turn of a tenant; 0 stands for all unknown
// tenants. The error is catalog.ErrNotMade if the call was not made.
func (s *Store) Run(ctx context.Context, tenantID int64, call func(context.Context) error) error {
	return s.queue.run(ctx, tenantID, call)
}
