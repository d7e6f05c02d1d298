package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// TestMigrationUnderLoad: a migration changes what prepared statements return while many calls use
// them. Each is prepared again, and no call fails.
func TestMigrationUnderLoad(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = storetest.Open(t, s.APIURL, store.Options{AsAPI: true})
	rex := s.Add(t, s.A, "Rex")[0]
	order, err := s.Orders.PlaceOrder(t.Context(), s.A.ID, catalog.NewOrder{PetID: rex.ID, Quantity: 1})
	assert.NoError(t, err)
	calls := map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			pets, _, err := s.Pets.ListPets(ctx, s.A.ID, catalog.Page{Limit: 20})
			if err == nil && len(pets) != 1 {
				return fmt.Errorf("list: %v", pets)
			}
			return err
		},
		"get": func(ctx context.Context) error { _, err := s.Pets.GetPet(ctx, s.A.ID, rex.ID); return err },
		"change order": func(ctx context.Context) error {
			_, err := s.Orders.ChangeOrder(ctx, s.A.ID, order.ID, catalog.OrderPatch{Status: catalog.Placed})
			return err
		},
	}
	var created atomic.Int64
	calls["create once"] = func(ctx context.Context) error {
		asked := fixture.Keyed(1)[0]
		asked.Request.Key = fmt.Sprint(created.Add(1))
		_, replayed, err := fixture.Once(ctx, s.Idempotency, s.B.ID, asked)
		if err != nil || replayed {
			return fmt.Errorf("replayed %v, %w", replayed, err)
		}
		return nil
	}
	for i := range 20 {
		s.Exec(t, `alter table idempotency_keys alter location type `+[]string{"varchar(500)", "text"}[i%2])
		s.Exec(t, `alter table pets alter name type `+[]string{"varchar(500)", "text"}[i%2])
		s.Exec(t, `alter table orders alter quantity type `+[]string{"bigint", "integer"}[i%2])
		var all sync.WaitGroup
		for name, call := range calls {
			for range 16 {
				all.Go(func() {
					assert.Equal(t, call(t.Context()), nil, name, "after migration", i)
				})
			}
		}
		all.Wait()
	}
}

// Operations that customers repeat take one round trip once their statement is prepared: setting
// the tenant for row-level security is part of it.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	pet := s.Add(t, s.A, "Rex")[0]
	proxy := fixture.NewBreakingProxy(t, s.APIURL)
	db := storetest.Open(t, proxy.URL, store.Options{AsAPI: true, MaxConns: 1})
	number := int64(0)
	for name, call := range map[string]func() error{
		"list": func() error {
			_, _, err := db.Pets.ListPets(t.Context(), s.A.ID, catalog.Page{Limit: 20})
			return err
		},
		"list by status": func() error {
			_, _, err := db.Pets.ListPets(t.Context(), s.A.ID, catalog.Page{Limit: 20, Status: catalog.Sold})
			return err
		},
		"month": func() error { _, err := db.Usage.UsageMonth(t.Context(), s.A.ID, time.Now()); return err },
		"get":   func() error { _, err := db.Pets.GetPet(t.Context(), s.A.ID, pet.ID); return err },
		"add": func() error {
			_, err := db.Pets.CreatePet(t.Context(), s.A.ID, catalog.NewPet{Name: "Luna", Status: catalog.Sold})
			return err
		},
		"change": func() error {
			_, err := db.Pets.ChangePet(t.Context(), s.A.ID, pet.ID, catalog.PetPatch{Name: &pet.Name})
			return err
		},
		"order": func() error {
			_, err := db.Orders.PlaceOrder(t.Context(), s.A.ID, catalog.NewOrder{PetID: pet.ID, Quantity: 1})
			if errors.Is(err, catalog.ErrPetNotAvailable) { // The statement is the same.
				return nil
			}
			return err
		},
		// What takes one function call, whose rights the API does not have.
		"caller": func() error {
			if _, err := db.Keys.Caller(t.Context(), keys.Digest{}, time.Now()); !errors.Is(err, keys.ErrKeyNotFound) {
				return err
			}
			return nil
		},
		"usage": func() error {
			number++
			return db.Usage.WriteUsage(t.Context(), usage.Batch{
				ServerID: "s1", Number: number,
				Counts:   []usage.Count{fixture.Count(s.A.ID, "key_0000000000000000", time.Now(), 1, 1)},
				LastUsed: []usage.KeyUse{{KeyID: "key_0000000000000000", At: time.Now()}},
			})
		},
		"failed requests": func() error {
			return db.FailedRequests.WriteFailed(t.Context(),
				[]usage.FailedRequest{{}})
		},
		"automatic ban": func() error {
			if _,
				err := db.Bans.PlaceAutomaticBan(t.Context(), s.A.ID, "key_0000000000000000"); !errors.Is(err,
				keys.ErrKeyNotFound) {
				return err
			}
			return nil
		},
	} {
		assert.Equal(t, proxy.Count(t, call), 1, name, "takes round trips")
	}
}

// TestRoundTripsOfWrites: a change that depends on what is stored takes two. A request with a key
// takes those of its transaction: BEGIN, claim, do, keep, COMMIT.
func TestRoundTripsOfWrites(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	pet, number := s.Add(t, s.A, "Rex")[0], 0
	proxy := fixture.NewBreakingProxy(t, s.APIURL)
	db := storetest.Open(t, proxy.URL, store.Options{AsAPI: true, MaxConns: 1})
	change := func(c catalog.PetPatch) error {
		number++
		c.CategoryID = new(int64(number))
		return fixture.ErrorOf(db.Pets.ChangePet(t.Context(), s.A.ID, pet.ID, c))
	}
	for name, row := range map[string]struct {
		want int
		call func() error
	}{
		"change of a status": {2, func() error { return change(catalog.PetPatch{Status: &pet.Status}) }},
		"change with a precondition": {2, func() error {
			return change(catalog.PetPatch{Precondition: func(catalog.Pet) error { return nil }})
		}},
		"add with a key": {5, func() error {
			number++
			asked := fixture.Adding(fixture.Request(fmt.Sprint(number), "Rex"), "Rex")
			return fixture.ErrorOf(db.Idempotency.CreatePetOnce(t.Context(), s.A.ID, asked))
		}},
		"order with a key": {5, func() error {
			asked := fixture.Ordering(fmt.Sprint("order ", number), s.Pet(t, s.A, catalog.Available).ID)
			number++
			return fixture.ErrorOf(db.Idempotency.PlaceOrderOnce(t.Context(), s.A.ID, asked))
		}},
		"replay": {3, func() error {
			asked := fixture.Adding(fixture.Request("again", "Rex"), "Rex")
			return fixture.ErrorOf(db.Idempotency.CreatePetOnce(t.Context(), s.A.ID, asked))
		}},
	} {
		assert.Equal(t, proxy.Count(t, row.call), row.want, name, "takes round trips")
	}
}
