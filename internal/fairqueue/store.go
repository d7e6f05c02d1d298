package fairqueue

import (
	"context"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/usage"
)

// Stores are the stores behind a Store.
type Stores struct {
	Pets     catalog.Store
	Orders   catalog.OrderStore
	Requests catalog.OnceStore
	Usage    usage.MonthStore
}

// Store is all of Stores, with the calls of each tenant in a queue.
type Store struct {
	stores Stores
	queue  *queue
}

var (
	_ catalog.Store      = (*Store)(nil)
	_ catalog.OrderStore = (*Store)(nil)
	_ catalog.OnceStore  = (*Store)(nil)
	_ usage.MonthStore   = (*Store)(nil)
)

// New returns a Store before those stores.
func New(s Stores, o Options) *Store { return &Store{s, newQueue(o)} }

// Waiting returns how many calls wait for their turn.
func (s *Store) Waiting() int { return s.queue.waitingCalls() }

// ListPets implements catalog.Store.
func (s *Store) ListPets(ctx context.Context, tenantID int64, p catalog.Page) (pets []catalog.Pet, more bool, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		pets, more, err = s.stores.Pets.ListPets(ctx, tenantID, p)
		return err
	})
	return pets, more, err
}

// GetPet implements catalog.Store.
func (s *Store) GetPet(ctx context.Context, tenantID, id int64) (pet catalog.Pet, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		pet, err = s.stores.Pets.GetPet(ctx, tenantID, id)
		return err
	})
	return pet, err
}

// CreatePet implements catalog.Store.
func (s *Store) CreatePet(ctx context.Context, tenantID int64, p catalog.NewPet) (pet catalog.Pet, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		pet, err = s.stores.Pets.CreatePet(ctx, tenantID, p)
		return err
	})
	return pet, err
}

// ChangePet implements catalog.Store.
func (s *Store) ChangePet(ctx context.Context, tenantID, id int64, c catalog.PetPatch) (pet catalog.Pet, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		pet, err = s.stores.Pets.ChangePet(ctx, tenantID, id, c)
		return err
	})
	return pet, err
}

// ListOrders implements catalog.OrderStore.
func (s *Store) ListOrders(ctx context.Context, tenantID int64, p catalog.OrderPage) (orders []catalog.Order, more bool, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		orders, more, err = s.stores.Orders.ListOrders(ctx, tenantID, p)
		return err
	})
	return orders, more, err
}

// PlaceOrder implements catalog.OrderStore.
func (s *Store) PlaceOrder(ctx context.Context, tenantID int64, o catalog.NewOrder) (order catalog.Order, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		order, err = s.stores.Orders.PlaceOrder(ctx, tenantID, o)
		return err
	})
	return order, err
}

// ChangeOrder implements catalog.OrderStore.
func (s *Store) ChangeOrder(ctx context.Context, tenantID, id int64, to catalog.OrderStatus) (order catalog.Order, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		order, err = s.stores.Orders.ChangeOrder(ctx, tenantID, id, to)
		return err
	})
	return order, err
}

// Once implements catalog.OnceStore. The Creator that work gets has the slot of the call.
func (s *Store) Once(
	ctx context.Context, tenantID int64, r *catalog.Idempotency, work func(context.Context, catalog.Creator) (catalog.Answer, error),
) (a catalog.Answer, replayed bool, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		a, replayed, err = s.stores.Requests.Once(ctx, tenantID, r, work)
		return err
	})
	return a, replayed, err
}

// UsageMonth implements usage.MonthStore.
func (s *Store) UsageMonth(ctx context.Context, tenantID int64, now time.Time) (m usage.Month, err error) {
	err = s.queue.run(ctx, tenantID, func(ctx context.Context) (err error) {
		m, err = s.stores.Usage.UsageMonth(ctx, tenantID, now)
		return err
	})
	return m, err
}
