package store_test

import (
	"errors"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/storetest"
)

// An animal is added once or not at all, whatever happens to the connection.
func TestCreatePetOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for how, want := range map[breakage]int{cutRequest: 0, cutAnswer: 1} {
		proxy := newBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.url, store.Options{AsAPI: true, MaxConns: 1})
		before := len(s.pets(t, s.a.ID))
		// The statement is prepared.
		if _, err := db.Pets.CreatePet(t.Context(), s.a.ID, catalog.NewPet{Name: "Rex", Status: catalog.Sold}); err != nil {
			t.Fatal(err)
		}
		proxy.breakAt(1, how)
		_, err := db.Pets.CreatePet(t.Context(), s.a.ID, catalog.NewPet{Name: "Luna", Status: catalog.Sold})
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%d: %v, want ErrUnavailable", how, err)
		}
		if got := len(s.pets(t, s.a.ID)) - before - 1; got != want {
			t.Errorf("%d: %d animals were added, want %d", how, got, want)
		}
	}
}

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

// A statement that waits too long is ended by Postgres, and does not take effect when what it waited for is over.
func TestCreatePetIsNotLate(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	holder := s.owner.MustBegin()
	holder.MustExec(`lock table pets in share mode`)
	start := time.Now()
	_, err := s.Pets.CreatePet(t.Context(), s.a.ID, catalog.NewPet{Name: "Rex", Status: catalog.Sold})
	if took := time.Since(start); !errors.Is(err, store.ErrUnavailable) || took > 5*time.Second {
		t.Errorf("%v after %v, want ErrUnavailable after a second", err, took)
	}
	if err := holder.Commit(); err != nil {
		t.Fatal(err)
	}
	// Behind whatever waits still.
	s.exec(t, `begin; lock table pets in access exclusive mode; commit`)
	if pets := s.pets(t, s.a.ID); len(pets) != 0 {
		t.Errorf("added after all: %v", pets)
	}
}
