package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
)

// TestMigrationUnderLoad: a migration changes what hot statements return while many use them. Each is prepared again,
// and nobody meets the one that was closed.
func TestMigrationUnderLoad(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	owner := s.owner(t)
	rex := s.add(t, s.a, "Rex")[0]
	order, err := s.Orders.PlaceOrder(t.Context(), s.a.ID, catalog.NewOrder{PetID: rex.ID, Quantity: 1})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, _, err := s.Pets.ListPets(ctx, s.a.ID, catalog.Page{Limit: 20})
			return err
		},
		"get": func(ctx context.Context) error { _, err := s.Pets.GetPet(ctx, s.a.ID, rex.ID); return err },
		"change order": func(ctx context.Context) error {
			_, err := s.Orders.ChangeOrder(ctx, s.a.ID, order.ID, catalog.Placed)
			return err
		},
	}
	for i := range 20 {
		kind := []string{"varchar(500)", "text"}[i%2]
		if _, err := owner.ExecContext(t.Context(), `alter table pets alter name type `+kind); err != nil {
			t.Fatal(err)
		}
		kind = []string{"bigint", "integer"}[i%2]
		if _, err := owner.ExecContext(t.Context(), `alter table orders alter quantity type `+kind); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for name, call := range calls {
			for range 16 {
				all.Go(func() {
					// On a busy machine a call may run out of time.
					if err := call(t.Context()); err != nil && !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("%s after migration %d: %v", name, i, err)
					}
				})
			}
		}
		all.Wait()
	}
}
