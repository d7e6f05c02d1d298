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
		asked := fixture.Keyed(3)
		for i := range asked {
			asked[i].Request.Key = fmt.Sprint(created.Add(1))
		}
		for _, o := range s.Idempotency.CreatePetsOnce(ctx, s.B.ID, asked) {
			if o.Err != nil || o.Result.Replayed {
				return fmt.Errorf("replayed %v, %w", o.Result.Replayed, o.Err)
			}
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
		"add several": func() error { return db.Pets.CreatePets(t.Context(), s.A.ID, fixture.Litter(64))[0].Err },
		"change": func() error {
			_, err := db.Pets.ChangePet(t.Context(), s.A.ID, pet.ID, catalog.PetPatch{Name: &pet.Name})
			return err
		},
		"change several": func() error {
			c := catalog.PetChange{ID: pet.ID, PetPatch: catalog.PetPatch{Name: &pet.Name}}
			return db.Pets.ChangePets(t.Context(), s.A.ID, []catalog.PetChange{c, c})[1].Err
		},
		"add with keys": func() error {
			number++
			asked := fixture.Keyed(2) // the first is replayed
			asked[1].Request.Key = fmt.Sprint(number)
			return db.Idempotency.CreatePetsOnce(t.Context(), s.A.ID, asked)[1].Err
		},
		"orders with keys": func() error {
			asked := []catalog.Once[catalog.NewOrder, catalog.Order]{
				fixture.Ordering("a", pet.ID), fixture.Ordering("b", 0),
			}
			if o := db.Idempotency.PlaceOrdersOnce(t.Context(), s.A.ID, asked)[1]; !errors.Is(o.Err,
				catalog.ErrPetNotFound) {
				return o.Err
			}
			return nil
		},
		"several orders": func() error {
			if o := db.Orders.PlaceOrders(t.Context(), s.A.ID, make([]catalog.NewOrder, 2))[1]; !errors.Is(o.Err,
				catalog.ErrPetNotFound) {
				return o.Err
			}
			return nil
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
