package catalogue_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// Changes and orders that share a statement get what they would get one after the other, and so do
// the rows. Tenant A's share one, B's go alone.
func TestSharedWritesActInTurn(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	random := rand.New(rand.NewPCG(3, 35))
	var a, b []int64
	for range 8 {
		a, b = append(a, s.Pet(t, s.A, catalog.Available).ID), append(b, s.Pet(t, s.B, catalog.Available).ID)
	}
	a, b = append(a, b[0], math.MaxInt64), append(b, a[0], math.MaxInt64) // another tenant's, and nobody's
	outcome := func(got catalog.Outcome[catalog.Pet]) string { return fmt.Sprint(got.Result.NewPet, got.Err) }
	ordered := func(got catalog.Outcome[catalog.Order]) string {
		return fmt.Sprint(got.Result.ID > 0, got.Result.Quantity, got.Result.Status, got.Err)
	}
	for round := range 150 {
		var which []int
		var changes []catalog.PetChange
		var orders []catalog.NewOrder
		for range 1 + random.IntN(20) {
			i := random.IntN(len(a))
			c := catalog.PetChange{ID: a[i]}
			if random.IntN(2) == 0 {
				c.Name = new(strings.Repeat("é\"", random.IntN(100)+1))
			}
			if random.IntN(2) == 0 {
				c.CategoryID = new(random.Int64())
			}
			o := catalog.NewOrder{PetID: a[i], Quantity: 1 + random.Int32N(9)}
			if i == 3 && round%5 == 0 { // what Postgres refuses
				c.Name, o.Quantity = new(""), 0
			}
			which, changes, orders = append(which, i), append(changes, c), append(orders, o)
		}
		for i, got := range s.Pets.ChangePets(t.Context(), s.A.ID, changes) {
			single, err := s.Pets.ChangePet(t.Context(), s.B.ID, b[which[i]], changes[i].PetPatch)
			want := outcome(catalog.Outcome[catalog.Pet]{Result: single, Err: err})
			if outcome(got) != want || got.Err == nil && got.Result.ID != changes[i].ID {
				t.Fatalf("round %d, change %d of %+v: %+v, want %s", round, i, changes, got, want)
			}
		}
		for i, got := range s.Orders.PlaceOrders(t.Context(), s.A.ID, orders) {
			single, err := s.Orders.PlaceOrder(
				t.Context(),
				s.B.ID,
				catalog.NewOrder{PetID: b[which[i]], Quantity: orders[i].Quantity},
			)
			want := ordered(catalog.Outcome[catalog.Order]{Result: single, Err: err})
			if ordered(got) != want || got.Err == nil && got.Result.PetID != orders[i].PetID {
				t.Fatalf("round %d, order %d of %+v: %+v, want %s", round, i, orders, got, want)
			}
			if stored, err := s.Orders.GetOrder(t.Context(), s.A.ID, got.Result.ID); got.Err == nil {
				assert.Result(t, got.Result, err, stored, "order", i)
			}
		}
		if pets := func(tenantID int64) (all []catalog.NewPet) {
			for _, p := range s.AllPets(t, tenantID) {
				all = append(all, p.NewPet)
			}
			return all
		}; !slices.Equal(pets(s.A.ID), pets(s.B.ID)) {
			t.Fatalf("round %d: %+v and %+v", round, pets(s.A.ID), pets(s.B.ID))
		}
		if round%3 == 0 {
			s.Exec(t, `update orders set status = 'delivered'; update pets set status = 'available'`)
		}
	}
}

// Statements that lock the same animals, asked for in opposite orders, wait for each other in the
// order of IDs: none is ended as a deadlock.
func TestSharedWritesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	var changes []catalog.PetChange
	var orders []catalog.NewOrder
	for i := range 40 {
		id := s.Pet(t, s.A, catalog.Available).ID
		changes = append(changes, catalog.PetChange{ID: id, PetPatch: catalog.PetPatch{CategoryID: new(int64(i))}})
		orders = append(orders, catalog.NewOrder{PetID: id, Quantity: 1})
	}
	fixture.AtOnce(t, 4, 4, nil, func(worker int) error {
		changes, orders := slices.Clone(changes), slices.Clone(orders)
		if worker%2 == 1 {
			slices.Reverse(changes)
			slices.Reverse(orders)
		}
		for range 100 {
			for _, o := range s.Pets.ChangePets(t.Context(), s.A.ID, changes) {
				if o.Err != nil {
					return o.Err
				}
			}
			for _, o := range s.Orders.PlaceOrders(t.Context(), s.A.ID, orders) {
				if o.Err != nil && !errors.Is(o.Err, catalog.ErrPetNotAvailable) {
					return o.Err
				}
			}
			var once []catalog.Once[catalog.NewOrder, catalog.Order]
			for _, o := range orders {
				once = append(once, fixture.Ordering(fmt.Sprint(worker, o.PetID), o.PetID))
			}
			for _, o := range s.Idempotency.PlaceOrdersOnce(t.Context(), s.A.ID, once) {
				if o.Err != nil && !errors.Is(o.Err, catalog.ErrPetNotAvailable) {
					return o.Err
				}
			}
		}
		return nil
	})
}

// A shared statement that waited for another change begins with what that one left, and keeps it.
func TestSharedWritesSeeWhatTheyWaitedFor(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	first, second := s.Pet(t, s.A, catalog.Available), s.Pet(t, s.A, catalog.Available)
	tx := s.Owner.MustBegin()
	defer func() { _ = tx.Rollback() }()
	tx.MustExec(`update pets set category_id = 99, status = 'sold' where id = $1`, first.ID)
	changed, placed := make(chan []catalog.Outcome[catalog.Pet]), make(chan []catalog.Outcome[catalog.Order])
	go func() {
		luna := catalog.PetPatch{Name: new("Luna")}
		changed <- s.Pets.ChangePets(context.Background(), s.A.ID,
			[]catalog.PetChange{{ID: second.ID, PetPatch: luna}, {ID: first.ID, PetPatch: luna}})
	}()
	go func() {
		placed <- s.Orders.PlaceOrders(context.Background(), s.A.ID,
			[]catalog.NewOrder{{PetID: first.ID, Quantity: 1}, {PetID: second.ID, Quantity: 1}})
	}()
	const waits = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type =
		'Lock'`
	wait.Until(t, "both wait for a lock", func() bool { return s.Text(t, waits) == "2" })
	assert.NoError(t, tx.Commit())
	pets, orders := <-changed, <-placed
	want := catalog.Pet{ID: first.ID, NewPet: catalog.NewPet{Name: "Luna", CategoryID: 99, Status: catalog.Sold}}
	assert.Result(t, pets[1].Result, pets[1].Err, want, "changed")
	stored, err := s.Pets.GetPet(t.Context(), s.A.ID, first.ID)
	assert.Result(t, stored, err, want, "in the table")
	assert.ErrorIs(t, orders[0].Err, catalog.ErrPetNotAvailable)
	assert.NoError(t, orders[1].Err)
}

// They are made once or not at all, whatever happens to the connection, and nobody is told that
// they were.
func TestSharedWritesOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	for how, want := range map[fixture.Breakage]string{fixture.CutRequest: "0 0", fixture.CutAnswer: "2 2"} {
		proxy := fixture.NewBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.URL, store.Options{AsAPI: true, MaxConns: 1, Timeout: fixture.ShortTimeout})
		one, two := s.Pet(t, s.A, catalog.Available).ID, s.Pet(t, s.A, catalog.Available).ID
		luna := catalog.PetPatch{Name: new(fmt.Sprint("Luna ", how))}
		change := func(tenantID int64) []catalog.Outcome[catalog.Pet] {
			return db.Pets.ChangePets(
				t.Context(),
				tenantID,
				[]catalog.PetChange{{ID: one, PetPatch: luna}, {ID: two, PetPatch: luna}},
			)
		}
		place := func(tenantID int64) []catalog.Outcome[catalog.Order] {
			return db.Orders.PlaceOrders(
				t.Context(),
				tenantID,
				[]catalog.NewOrder{{PetID: one, Quantity: 7}, {PetID: two, Quantity: 7}},
			)
		}
		change(s.B.ID) // The statements are prepared.
		place(s.B.ID)
		proxy.BreakAt(1, how)
		for _, o := range change(s.A.ID) {
			assert.ErrorIs(t, o.Err, store.ErrUnavailable, how)
		}
		place(s.B.ID)
		proxy.BreakAt(1, how)
		for _, o := range place(s.A.ID) {
			assert.ErrorIs(t, o.Err, store.ErrUnavailable, how)
		}
		assert.Equal(
			t,
			s.Text(
				t,
				fmt.Sprintf(
					`select count(*) filter (where name = 'Luna %d') || ' ' || count(*) filter (where status =
						'pending')
			from pets where id in (%d, %d)`,
					how,
					one,
					two,
				),
			),
			want,
			how,
			"made",
		)
	}
}

// Orders with keys that share a transaction get what each would get by itself. What is refused
// stores no answer, and keeps no other from its order.
func TestPlaceOrdersOnce(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	one, two, three, held := s.Pet(
		t,
		s.A,
		catalog.Available,
	).ID, s.Pet(
		t,
		s.A,
		catalog.Available,
	).ID, s.Pet(
		t,
		s.A,
		catalog.Available,
	).ID, s.Order(
		t,
		s.A,
	).PetID
	stored, err := s.Idempotency.PlaceOrderOnce(t.Context(), s.A.ID, fixture.Ordering("stored", three))
	assert.NoError(t, err)
	asked := []catalog.Once[catalog.NewOrder, catalog.Order]{
		fixture.Ordering(
			"stored",
			three,
		),
		fixture.Ordering("stored", one),
		fixture.Ordering("b", two),
		fixture.Ordering("b", two),
		fixture.Ordering("b", one),
		fixture.Ordering("c", two),
		fixture.Ordering(
			"held",
			held,
		),
		fixture.Ordering("held", held),
		fixture.Ordering("held", one),
		fixture.Ordering("nobody's", math.MaxInt64),
		fixture.Ordering("a", one),
	}
	wants := []error{
		nil,
		catalog.ErrIdempotencyKeyReused,
		nil,
		nil,
		catalog.ErrIdempotencyKeyReused,
		catalog.ErrPetNotAvailable,
		catalog.ErrPetNotAvailable,
		catalog.ErrPetNotAvailable,
		catalog.ErrIdempotencyInProgress,
		catalog.ErrPetNotFound,
		nil,
	}
	outcomes := s.Idempotency.PlaceOrdersOnce(t.Context(), s.A.ID, asked)
	for i, o := range outcomes {
		if !errors.Is(o.Err, wants[i]) || o.Result.Replayed != (i == 0 || i == 3) {
			t.Errorf("order %d: %+v, want %v", i, o, wants[i])
		}
	}
	assert.DeepEqual(t, outcomes[0].Result.Answer, stored.Answer, "stored")
	assert.DeepEqual(t, outcomes[3].Result.Answer, outcomes[2].Result.Answer, "twice")
	assert.Equal(t, len(s.AllOrders(t, s.A)), 4, "orders")
	assert.Equal(
		t,
		s.Text(t, `select string_agg(key, ' ' order by key) from idempotency_keys`),
		"a b stored",
		"keys with an answer",
	)
	// The same if only one of them is fresh, and if the animal of an order was made available in
	// the database.
	refused := []catalog.Once[catalog.NewOrder, catalog.Order]{
		fixture.Ordering("held", held),
		fixture.Ordering("held", one),
	}
	outcomes = s.Idempotency.PlaceOrdersOnce(t.Context(), s.A.ID, refused)
	assert.ErrorIs(t, outcomes[0].Err, catalog.ErrPetNotAvailable)
	assert.ErrorIs(t, outcomes[1].Err, catalog.ErrIdempotencyInProgress)
	s.Text(t, `update pets set status = 'available' where id = $1 returning name`, held)
	outcomes = s.Idempotency.PlaceOrdersOnce(t.Context(), s.A.ID, refused)
	assert.ErrorIs(t, outcomes[0].Err, catalog.ErrPetNotAvailable)
	// One that Postgres refuses keeps no other from its order.
	bad := []catalog.Once[catalog.NewOrder, catalog.Order]{
		fixture.Ordering("bad", s.Pet(t, s.A, catalog.Available).ID),
		fixture.Ordering("good", s.Pet(t, s.A, catalog.Available).ID),
	}
	bad[0].New.Quantity = 0
	outcomes = s.Idempotency.PlaceOrdersOnce(t.Context(), s.A.ID, bad)
	if outcomes[0].Err == nil || outcomes[1].Err != nil {
		t.Errorf("%+v", outcomes)
	}
}
