package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestMigrationUnderLoad: a migration changes what prepared statements return while many calls use them. Each is prepared
// again, and no call fails.
func TestMigrationUnderLoad(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = storetest.Open(t, s.APIURL, store.Options{AsAPI: true, Timeout: longTimeout})
	rex := s.add(t, s.a, "Rex")[0]
	order, err := s.Orders.PlaceOrder(t.Context(), s.a.ID, catalog.NewOrder{PetID: rex.ID, Quantity: 1})
	assert.NoError(t, err)
	calls := map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			pets, _, err := s.Pets.ListPets(ctx, s.a.ID, catalog.Page{Limit: 20})
			if err == nil && len(pets) != 1 {
				return fmt.Errorf("list: %v", pets)
			}
			return err
		},
		"get": func(ctx context.Context) error { _, err := s.Pets.GetPet(ctx, s.a.ID, rex.ID); return err },
		"change order": func(ctx context.Context) error {
			_, err := s.Orders.ChangeOrder(ctx, s.a.ID, order.ID, catalog.OrderPatch{Status: catalog.Placed})
			return err
		},
	}
	var created atomic.Int64
	calls["create once"] = func(ctx context.Context) error {
		asked := keyed(3)
		for i := range asked {
			asked[i].Request.Key = fmt.Sprint(created.Add(1))
		}
		for _, o := range s.Idempotency.CreatePetsOnce(ctx, s.b.ID, asked) {
			if o.Err != nil || o.Result.Replayed {
				return fmt.Errorf("replayed %v, %w", o.Result.Replayed, o.Err)
			}
		}
		return nil
	}
	for i := range 20 {
		s.exec(t, `alter table idempotency_keys alter location type `+[]string{"varchar(500)", "text"}[i%2])
		s.exec(t, `alter table pets alter name type `+[]string{"varchar(500)", "text"}[i%2])
		s.exec(t, `alter table orders alter quantity type `+[]string{"bigint", "integer"}[i%2])
		var all sync.WaitGroup
		for name, call := range calls {
			for range 16 {
				all.Go(func() {
					if err := call(t.Context()); err != nil {
						t.Errorf("%s after migration %d: %v", name, i, err)
					}
				})
			}
		}
		all.Wait()
	}
}
