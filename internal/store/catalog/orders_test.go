package catalog_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

func TestPlaceOrder(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	pet := s.Pet(t, s.A, catalog.Available)
	before := time.Now()
	got, err := s.Orders.PlaceOrder(t.Context(), s.A.ID, catalog.NewOrder{PetID: pet.ID, Quantity: catalog.MaxQuantity})
	assert.NoError(t, err)
	if age := got.CreatedAt.Sub(before); age < -time.Second || age > time.Minute ||
		got.CreatedAt.Location() != time.UTC {
		t.Errorf("created at %v, called at %v", got.CreatedAt, before)
	}
	want := catalog.Order{
		ID:        got.ID,
		PetID:     pet.ID,
		Quantity:  catalog.MaxQuantity,
		Status:    catalog.Placed,
		CreatedAt: got.CreatedAt,
	}
	assert.DeepEqual(t, got, want, "placed")
	assert.DeepEqual(t, s.AllOrders(t, s.A), []catalog.Order{want}, "list")
	assert.Equal(t, s.PetStatus(t, s.A, pet.ID), catalog.Pending, "the ordered animal")
}

func TestOrdersThatAreRefused(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	ordered := s.Order(t, s.A)
	pending, sold := s.Pet(t, s.A, catalog.Pending), s.Pet(t, s.A, catalog.Sold)
	others := s.Pet(t, s.B, catalog.Available)
	for name, tt := range map[string]struct {
		petID int64
		want  error
	}{
		"ordered":                  {ordered.PetID, catalog.ErrPetNotAvailable},
		"pending":                  {pending.ID, catalog.ErrPetNotAvailable},
		"sold":                     {sold.ID, catalog.ErrPetNotAvailable},
		"another tenant's":         {others.ID, catalog.ErrPetNotFound},
		"nobody's":                 {math.MaxInt64, catalog.ErrPetNotFound},
		"nobody's, and before all": {math.MinInt64, catalog.ErrPetNotFound},
	} {
		got, err := s.Orders.PlaceOrder(t.Context(), s.A.ID, catalog.NewOrder{PetID: tt.petID, Quantity: 1})
		if !errors.Is(err, tt.want) || got != (catalog.Order{}) {
			t.Errorf("%s: %+v, %v, want %v", name, got, err, tt.want)
		}
	}
	assert.DeepEqual(t, s.AllOrders(t, s.A), []catalog.Order{ordered}, "list")
	assert.Equal(t, s.PetStatus(t, s.B, others.ID), catalog.Available, "another tenant's animal became")
}

// TestOneOfManyOrdersWins: an animal is ordered once, by orders with keys and without at the same
// time, and only the order that won has a stored answer.
func TestOneOfManyOrdersWins(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	servers := []*store.DB{s.Server(t), s.Server(t)}
	for range 10 { // Either kind wins now and then.
		pet, before := s.Pet(t, s.A, catalog.Available), len(s.AllOrders(t, s.A))
		fixture.AtOnce(t, 100, 1, catalog.ErrPetNotAvailable, func(i int) error {
			if db := servers[i%2]; i%4 < 2 {
				return fixture.ErrorOf(
					db.Orders.PlaceOrder(t.Context(), s.A.ID, catalog.NewOrder{PetID: pet.ID, Quantity: 1}),
				)
			}
			asked := fixture.Ordering(fmt.Sprint(pet.ID, " ", i), pet.ID)
			return fixture.ErrorOf(servers[i%2].Idempotency.PlaceOrderOnce(t.Context(), s.A.ID, asked))
		})
		assert.Equal(t, len(s.AllOrders(t, s.A))-before, 1, "orders of the animal")
	}
	answers := s.Text(t, `select count(*) from idempotency_keys`)
	wrong := s.Text(t, `select count(*) from idempotency_keys k where not exists (
		select from orders o where k.location = '/v1/store/orders/' || o.id)`)
	t.Logf("%s of 10 orders have a key", answers)
	assert.Equal(t, wrong, "0", "answers without an order")
}

// pathTo is how an order that was placed comes to a status.
var pathTo = map[catalog.OrderStatus][]catalog.OrderStatus{
	catalog.Placed:    nil,
	catalog.Approved:  {catalog.Approved},
	catalog.Delivered: {catalog.Approved, catalog.Delivered},
	catalog.Cancelled: {catalog.Cancelled},
}

func TestChangeOrderByEveryStep(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	for from, path := range pathTo {
		for to := range pathTo {
			t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
				t.Parallel()
				want := s.Order(t, s.A)
				for _, step := range path {
					_, err := s.Orders.ChangeOrder(t.Context(), s.A.ID, want.ID, catalog.OrderPatch{Status: step})
					assert.NoError(t, err)
				}
				wantErr := from.CheckStep(to)
				want.Status = from
				if wantErr == nil {
					want.Status = to
				}
				got, err := s.Orders.ChangeOrder(t.Context(), s.A.ID, want.ID, catalog.OrderPatch{Status: to})
				if wantErr == nil {
					assert.Result(t, got, err, want)
				} else if e := (*catalog.TransitionError)(nil); !errors.As(err, &e) || e.Error() != wantErr.Error() {
					t.Errorf("got %v, want %v", err, wantErr)
				}
				stored, _, err := s.Orders.ListOrders(
					t.Context(),
					s.A.ID,
					catalog.OrderPage{After: want.ID - 1, Limit: 1},
				)
				assert.Result(t, stored, err, []catalog.Order{want}, "in the table")
				assert.Equal(t, s.PetStatus(t, s.A, want.PetID), want.Status.PetStatus(), "the animal")
			})
		}
	}
}

func TestCancelledAnimalCanBeOrderedAgain(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	first := s.Order(t, s.A)
	_, err := s.Orders.ChangeOrder(t.Context(), s.A.ID, first.ID, catalog.OrderPatch{Status: catalog.Cancelled})
	assert.NoError(t, err)
	second, err := s.Orders.PlaceOrder(t.Context(), s.A.ID, catalog.NewOrder{PetID: first.PetID, Quantity: 1})
	assert.NoError(t, err)
	// The first order has no say in the animal any more.
	_, err = s.Orders.ChangeOrder(t.Context(), s.A.ID, first.ID, catalog.OrderPatch{Status: catalog.Cancelled})
	assert.Equal(t, err, nil)
	assert.Equal(t, s.PetStatus(t, s.A, second.PetID), catalog.Pending, "the animal")
}

func TestChangeOrderOfNobodyOrAnother(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	o := s.Order(t, s.A)
	for _, tt := range []struct{ tenantID, id int64 }{{s.B.ID, o.ID}, {s.A.ID, o.ID + 1}, {s.A.ID, math.MinInt64}} {
		_, err := s.Orders.ChangeOrder(t.Context(), tt.tenantID, tt.id, catalog.OrderPatch{Status: catalog.Approved})
		assert.ErrorIs(t, err, catalog.ErrOrderNotFound, "tenant", tt.tenantID, "order", tt.id)
	}
	assert.DeepEqual(t, s.AllOrders(t, s.A), []catalog.Order{o}, "list")
}

func TestListOrders(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	var all []catalog.Order
	for range 5 {
		all = append(all, s.Order(t, s.A))
	}
	s.Order(t, s.B)
	for _, i := range []int{1, 3} {
		var err error
		all[i], err = s.Orders.ChangeOrder(t.Context(), s.A.ID, all[i].ID, catalog.OrderPatch{Status: catalog.Approved})
		assert.NoError(t, err)
	}
	for _, tt := range []struct {
		name string
		page catalog.OrderPage
		want []catalog.Order
		more bool
	}{
		{"all", catalog.OrderPage{Limit: 100}, all, false},
		{"exactly all", catalog.OrderPage{Limit: 5}, all, false},
		{"first", catalog.OrderPage{Limit: 2}, all[:2], true},
		{"middle", catalog.OrderPage{Limit: 2, After: all[1].ID}, all[2:4], true},
		{"last", catalog.OrderPage{Limit: 2, After: all[3].ID}, all[4:], false},
		{"past the end", catalog.OrderPage{Limit: 2, After: math.MaxInt64}, []catalog.Order{}, false},
		{"by status", catalog.OrderPage{Limit: 1, Status: catalog.Approved}, all[1:2], true},
		{"by status, last", catalog.OrderPage{Limit: 2, Status: catalog.Approved, After: all[1].ID}, all[3:4], false},
		{"by status, none", catalog.OrderPage{Limit: 2, Status: catalog.Cancelled}, []catalog.Order{}, false},
	} {
		got, more, err := s.Orders.ListOrders(t.Context(), s.A.ID, tt.page)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" || more != tt.more {
			t.Errorf("%s: %v, more %v, want %v; (-want +got):\n%s", tt.name, err, more, tt.more, diff)
		}
	}
}

// Whatever servers do at the same time, an animal has at most one open order, and no call waits
// forever.
func TestOrdersAndChangesAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	pets := []catalog.Pet{
		s.Pet(t, s.A, catalog.Available),
		s.Pet(t, s.A, catalog.Available),
		s.Pet(t, s.A, catalog.Available),
	}
	expected := []error{nil, catalog.ErrPetNotAvailable, catalog.ErrInvalidTransition, catalog.ErrOrderNotFound}
	fixture.AtOnce(t, 8, 8, nil, func(worker int) error {
		random := rand.New(rand.NewPCG(uint64(worker), 7))
		for range 60 {
			err := disturb(t, s, random, pets[random.IntN(len(pets))].ID)
			if !slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) }) {
				return err
			}
		}
		return nil
	})
	wrong := s.Text(t, `select count(*) from (
		select p.status, count(o.id) as holding from pets p
		left join orders o on o.tenant_id = p.tenant_id and o.pet_id = p.id and o.status in ('placed', 'approved')
		group by p.tenant_id, p.id, p.status) h
		where holding > 1 or holding = 1 and status <> 'pending'`)
	assert.Equal(t, wrong, "0", "animals are in a state that can't be")
}

// disturb places or changes an order or the animal. It never sells, so that there is always
// something to do.
func disturb(t *testing.T, s fixture.Shop, random *rand.Rand, petID int64) error {
	switch random.IntN(6) {
	case 4:
		key := strconv.FormatUint(random.Uint64(), 36)
		return fixture.ErrorOf(s.Idempotency.PlaceOrderOnce(t.Context(), s.A.ID, fixture.Ordering(key, petID)))
	case 5:
		return fixture.ErrorOf(s.Pets.ChangePet(t.Context(), s.A.ID, petID, catalog.PetPatch{CategoryID: &petID}))
	case 0, 1:
		_, err := s.Orders.PlaceOrder(t.Context(), s.A.ID, catalog.NewOrder{PetID: petID, Quantity: 1})
		return err
	case 2:
		status := []catalog.Status{catalog.Available, catalog.Pending}[random.IntN(2)]
		_, err := s.Pets.ChangePet(t.Context(), s.A.ID, petID, catalog.PetPatch{Status: &status})
		return err
	default:
		page := catalog.OrderPage{
			Limit:  100,
			Status: []catalog.OrderStatus{catalog.Placed, catalog.Approved}[random.IntN(2)],
		}
		orders, _, err := s.Orders.ListOrders(t.Context(), s.A.ID, page)
		if err != nil || len(orders) == 0 {
			return err
		}
		to := []catalog.OrderStatus{catalog.Approved, catalog.Cancelled}[random.IntN(2)]
		_, err = s.Orders.ChangeOrder(
			t.Context(),
			s.A.ID,
			orders[random.IntN(len(orders))].ID,
			catalog.OrderPatch{Status: to},
		)
		return err
	}
}

// TestPreconditions: of many changes at the same time that are for the same state, one is made. No
// other is lost.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	servers := []*store.DB{s.Server(t), s.Server(t)}
	pet, order := s.Pet(t, s.A, catalog.Available), s.Order(t, s.A)
	fixture.AtOnce(t, 50, 1, catalog.ErrPreconditionFailed, func(i int) error {
		return fixture.ErrorOf(servers[i%2].Pets.ChangePet(t.Context(), s.A.ID, pet.ID, catalog.PetPatch{
			CategoryID: new(pet.CategoryID + int64(i) + 1), Precondition: holds(pet),
		}))
	})
	fixture.AtOnce(t, 50, 1, catalog.ErrPreconditionFailed, func(i int) error {
		to := []catalog.OrderStatus{catalog.Approved, catalog.Cancelled}[i/2%2]
		return fixture.ErrorOf(
			servers[i%2].Orders.ChangeOrder(
				t.Context(),
				s.A.ID,
				order.ID,
				catalog.OrderPatch{Status: to, Precondition: holds(order)},
			),
		)
	})
	got, err := s.Orders.GetOrder(t.Context(), s.A.ID, order.ID)
	if err != nil || got.Status == catalog.Placed {
		t.Errorf("%+v, %v", got, err)
	}
	for _, tenant := range []int64{s.B.ID, -1} {
		_, err := s.Orders.GetOrder(t.Context(), tenant, order.ID)
		assert.ErrorIs(t, err, catalog.ErrOrderNotFound, "tenant", tenant, "gets the order")
	}
	// Not found comes first.
	for _, err := range []error{
		fixture.ErrorOf(
			s.Pets.ChangePet(t.Context(), s.B.ID, pet.ID, catalog.PetPatch{Precondition: holds(catalog.Pet{})}),
		),
		fixture.ErrorOf(s.Orders.ChangeOrder(t.Context(), s.B.ID, order.ID,
			catalog.OrderPatch{Status: catalog.Approved, Precondition: holds(catalog.Order{})})),
	} {
		if !errors.Is(err, catalog.ErrPetNotFound) && !errors.Is(err, catalog.ErrOrderNotFound) {
			t.Errorf("of another tenant: %v", err)
		}
	}
}

// holds is the precondition that the item is still that one.
func holds[T comparable](want T) func(T) error {
	return func(got T) error {
		if got != want {
			return catalog.ErrPreconditionFailed
		}
		return nil
	}
}

// An order is placed once or not at all, whatever happens to the connection.
func TestPlaceOrderOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	for how, want := range map[fixture.Breakage]catalog.Status{
		fixture.CutRequest: catalog.Available, fixture.CutAnswer: catalog.Pending,
	} {
		proxy := fixture.NewBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.URL, store.Options{AsAPI: true, MaxConns: 1, Timeout: fixture.ShortTimeout})
		place := func(pet catalog.Pet) error {
			return fixture.ErrorOf(
				db.Orders.PlaceOrder(t.Context(), s.A.ID, catalog.NewOrder{PetID: pet.ID, Quantity: 1}),
			)
		}
		// The statement is prepared.
		assert.NoError(t, place(s.Pet(t, s.A, catalog.Available)))
		pet, before := s.Pet(t, s.A, catalog.Available), len(s.AllOrders(t, s.A))
		proxy.BreakAt(1, how)
		assert.ErrorIs(t, place(pet), store.ErrUnavailable, how)
		assert.Equal(t, s.PetStatus(t, s.A, pet.ID), want, how, "the animal")
		placed := 0
		if want == catalog.Pending {
			placed = 1
		}
		assert.Equal(t, len(s.AllOrders(t, s.A))-before, placed, how, "orders were placed")
	}
}
