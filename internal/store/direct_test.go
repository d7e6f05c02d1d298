package store_test

import (
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// An order is placed once or not at all, whatever happens to the connection.
func TestPlaceOrderOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for how, want := range map[breakage]catalog.Status{cutRequest: catalog.Available, cutAnswer: catalog.Pending} {
		proxy := newBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.url, store.Options{AsAPI: true, MaxConns: 1, Timeout: shortTimeout})
		place := func(pet catalog.Pet) error {
			return errorOf(db.Orders.PlaceOrder(t.Context(), s.a.ID, catalog.NewOrder{PetID: pet.ID, Quantity: 1}))
		}
		// The statement is prepared.
		assert.NoError(t, place(s.pet(t, s.a, catalog.Available)))
		pet, before := s.pet(t, s.a, catalog.Available), len(s.orders(t, s.a))
		proxy.breakAt(1, how)
		assert.ErrorIs(t, place(pet), store.ErrUnavailable, how)
		assert.Equal(t, s.petStatus(t, s.a, pet.ID), want, how, "the animal")
		placed := 0
		if want == catalog.Pending {
			placed = 1
		}
		assert.Equal(t, len(s.orders(t, s.a))-before, placed, how, "orders were placed")
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
		assert.NoError(t, call())
		s.exec(t, `select pg_terminate_backend(pid, 5000) from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and query like '%pets%'`)
		assert.Equal(t, call(), nil, "after all connections ended")
	}
}
