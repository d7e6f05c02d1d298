package store_test

import (
	"errors"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/storetest"
)

// An order is placed once or not at all, whatever happens to the connection.
func TestPlaceOrderOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for how, want := range map[breakage]catalog.Status{cutRequest: catalog.Available, cutAnswer: catalog.Pending} {
		proxy := newBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.url, store.Options{AsAPI: true, MaxConns: 1})
		place := func(pet catalog.Pet) error {
			return errorOf(db.Orders.PlaceOrder(t.Context(), s.a.ID, catalog.NewOrder{PetID: pet.ID, Quantity: 1}))
		}
		// The statement is prepared.
		if err := place(s.pet(t, s.a, catalog.Available)); err != nil {
			t.Fatal(err)
		}
		pet, before := s.pet(t, s.a, catalog.Available), len(s.orders(t, s.a))
		proxy.breakAt(1, how)
		if err := place(pet); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%d: %v, want ErrUnavailable", how, err)
		}
		if status := s.petStatus(t, s.a, pet.ID); status != want {
			t.Errorf("%d: the animal is %s, want %s", how, status, want)
		}
		placed := 0
		if want == catalog.Pending {
			placed = 1
		}
		if got := len(s.orders(t, s.a)) - before; got != placed {
			t.Errorf("%d: %d orders were placed, want %d", how, got, placed)
		}
	}
}

// Connections that Postgres ended while nobody used them cost nobody an error.
func TestDirectPassesOverEndedConnections(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	db := storetest.Open(t, s.APIURL, store.Options{AsAPI: true, MaxConns: 1})
	add := func() error {
		_, err := db.Pets.CreatePet(t.Context(), s.a.ID, catalog.NewPet{Name: "Rex", Status: catalog.Sold})
		return err
	}
	list := func() error {
		_, _, err := db.Pets.ListPets(t.Context(), s.a.ID, catalog.Page{Limit: 20})
		return err
	}
	for _, call := range []func() error{add, list, add} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
		s.exec(t, `select pg_terminate_backend(pid, 5000) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and query like '%pets%'`)
		if err := call(); err != nil {
			t.Errorf("after all connections ended: %v", err)
		}
	}
}
