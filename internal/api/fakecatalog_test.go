package api

import (
	"context"
	"slices"
	"sync"

	"petstore.example/internal/catalog"
)

// fakePets keeps animals in memory, by tenant.
type fakePets struct {
	mu   sync.Mutex
	last int64
	pets map[int64][]catalog.Pet
	err  error
	// before runs at the beginning of every call, also to orders.
	before func()
}

func newFakePets() *fakePets { return &fakePets{pets: map[int64][]catalog.Pet{}} }

// call does the work of a call, unless the fake fails.
func call[T any](f *fakePets, work func() (T, error)) (result T, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		f.before()
	}
	if f.err != nil {
		return result, f.err
	}
	return work()
}

// find returns nil when the tenant has no such animal.
func (f *fakePets) find(tenantID, id int64) *catalog.Pet {
	i := slices.IndexFunc(f.pets[tenantID], func(p catalog.Pet) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	return &f.pets[tenantID][i]
}

// pageOf returns the first rows that match, and whether there are more.
func pageOf[T any](rows []T, limit int, matches func(T) bool) (page []T, more bool) {
	for _, row := range rows {
		if matches(row) {
			page = append(page, row)
		}
	}
	return page[:min(len(page), limit)], len(page) > limit
}

func (f *fakePets) ListPets(
	_ context.Context,
	tenantID int64,
	p catalog.Page,
) (page []catalog.Pet, next int64, err error) {
	next, err = call(f, func() (next int64, _ error) {
		var more bool
		page, more = pageOf(
			f.pets[tenantID],
			p.Limit,
			func(pet catalog.Pet) bool { return pet.ID > p.After && p.Matches(pet) },
		)
		if more {
			next = page[len(page)-1].ID
		}
		return next, nil
	})
	return page, next, err
}

func (f *fakePets) GetPet(_ context.Context, tenantID, id int64) (catalog.Pet, error) {
	return call(f, func() (catalog.Pet, error) {
		if pet := f.find(tenantID, id); pet != nil {
			return *pet, nil
		}
		return catalog.Pet{}, catalog.ErrPetNotFound
	})
}

func (f *fakePets) CreatePet(_ context.Context, tenantID int64, n catalog.NewPet) (catalog.Pet, error) {
	return call(f, func() (catalog.Pet, error) {
		f.last++
		pet := catalog.Pet{ID: f.last, NewPet: n}
		f.pets[tenantID] = append(f.pets[tenantID], pet)
		return pet, nil
	})
}

func (f *fakePets) ChangePet(_ context.Context, tenantID, id int64, c catalog.PetPatch) (catalog.Pet, error) {
	return call(f, func() (catalog.Pet, error) {
		pet := f.find(tenantID, id)
		if pet == nil {
			return catalog.Pet{}, catalog.ErrPetNotFound
		}
		changed, err := c.Apply(*pet)
		if err == nil {
			*pet = changed
		}
		return changed, err
	})
}

// fakeOrders keeps orders in memory, by tenant, for the animals of fakePets.
type fakeOrders struct {
	pets   *fakePets
	last   int64
	orders map[int64][]catalog.Order
}

func (f *fakeOrders) ListOrders(
	_ context.Context,
	tenantID int64,
	p catalog.OrderPage,
) (page []catalog.Order, more bool, err error) {
	more, err = call(f.pets, func() (more bool, _ error) {
		page, more = pageOf(
			f.orders[tenantID],
			p.Limit,
			func(o catalog.Order) bool { return o.ID > p.After && (p.Status == "" || o.Status == p.Status) },
		)
		return more, nil
	})
	return page, more, err
}

func (f *fakeOrders) GetOrder(_ context.Context, tenantID, id int64) (catalog.Order, error) {
	return call(f.pets, func() (catalog.Order, error) {
		for _, o := range f.orders[tenantID] {
			if o.ID == id {
				return o, nil
			}
		}
		return catalog.Order{}, catalog.ErrOrderNotFound
	})
}

func (f *fakeOrders) PlaceOrder(_ context.Context, tenantID int64, n catalog.NewOrder) (catalog.Order, error) {
	return call(f.pets, func() (catalog.Order, error) {
		pet := f.pets.find(tenantID, n.PetID)
		switch {
		case pet == nil:
			return catalog.Order{}, catalog.ErrPetNotFound
		case pet.Status != catalog.Available:
			return catalog.Order{}, catalog.ErrPetNotAvailable
		}
		pet.Status = catalog.Pending
		f.last++
		o := catalog.Order{ID: f.last, PetID: n.PetID, Quantity: n.Quantity, Status: catalog.Placed, CreatedAt: at}
		f.orders[tenantID] = append(f.orders[tenantID], o)
		return o, nil
	})
}

func (f *fakeOrders) ChangeOrder(_ context.Context, tenantID, id int64, c catalog.OrderPatch) (catalog.Order, error) {
	return call(f.pets, func() (catalog.Order, error) {
		orders := f.orders[tenantID]
		i := slices.IndexFunc(orders, func(o catalog.Order) bool { return o.ID == id })
		if i < 0 {
			return catalog.Order{}, catalog.ErrOrderNotFound
		}
		changed, err := c.Apply(orders[i])
		if err != nil {
			return catalog.Order{}, err
		}
		orders[i] = changed
		f.pets.find(tenantID, changed.PetID).Status = changed.Status.PetStatus()
		return changed, nil
	})
}

// fakeRequests keeps answers in memory, by scope.
type fakeRequests struct {
	pets   *fakePets
	orders *fakeOrders
	mu     sync.Mutex
	stored map[scope]storedAnswer
	err    error
}

type scope struct {
	tenantID          int64
	method, path, key string
}

type storedAnswer struct {
	catalog.Idempotency
	// answer is nil while the request is worked on.
	answer *catalog.Answer
}

// begin returns the answer that is stored for the request, or makes it one that is worked on.
func (f *fakeRequests) begin(s scope, r catalog.Idempotency) (*catalog.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	stored, ok := f.stored[s]
	switch {
	case !ok, !r.At.Before(stored.At.Add(catalog.IdempotencyLifetime)):
		f.stored[s] = storedAnswer{r, nil}
		return nil, nil
	case stored.answer == nil:
		return nil, catalog.ErrIdempotencyInProgress
	case stored.Fingerprint != r.Fingerprint:
		return nil, catalog.ErrIdempotencyKeyReused
	}
	return stored.answer, nil
}

// end keeps the answer, or forgets the request when there is none.
func (f *fakeRequests) end(s scope, r catalog.Idempotency, a *catalog.Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a == nil {
		delete(f.stored, s)
		return
	}
	f.stored[s] = storedAnswer{r, a}
}

func (f *fakeRequests) CreatePetOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewPet, catalog.Pet],
) (catalog.Answered, error) {
	return answerOnce(f, tenantID, o, func() (catalog.Pet, error) { return f.pets.CreatePet(ctx, tenantID, o.New) })
}

func (f *fakeRequests) PlaceOrderOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewOrder, catalog.Order],
) (catalog.Answered, error) {
	return answerOnce(
		f,
		tenantID,
		o,
		func() (catalog.Order, error) { return f.orders.PlaceOrder(ctx, tenantID, o.New) },
	)
}

func answerOnce[New, T any](
	f *fakeRequests,
	tenantID int64,
	o catalog.Once[New, T],
	create func() (T, error),
) (catalog.Answered, error) {
	s := scope{tenantID, o.Request.Method, o.Request.Path, o.Request.Key}
	stored, err := f.begin(s, o.Request)
	if err != nil {
		return catalog.Answered{}, err
	}
	if stored != nil {
		return catalog.Answered{Answer: *stored, Replayed: true}, nil
	}
	var done *catalog.Answer
	defer func() { f.end(s, o.Request, done) }()
	created, err := create()
	if err != nil {
		return catalog.Answered{}, err
	}
	a, err := o.Answer(&created)
	if err == nil {
		done = &a
	}
	return catalog.Answered{Answer: a}, err
}
