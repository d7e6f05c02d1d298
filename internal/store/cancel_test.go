package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"petstore.example/internal/catalog"
)

// TestGivenUpIsCanceled: who gives a call up in its middle reads that, whatever the database made of it. The API gives no
// request back to a client that hangs up, which would be a way around the limit.
func TestGivenUpIsCanceled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	rex := s.add(t, s.a, "Rex")[0]
	owner := s.owner(t)
	holder, err := owner.Beginx()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	if _, err := holder.ExecContext(t.Context(), `lock table pets in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, _, err := s.Pets.ListPets(ctx, s.a.ID, catalog.Page{Limit: 20})
			return err
		},
		"change": func(ctx context.Context) error {
			_, err := s.Pets.ChangePet(ctx, s.a.ID, rex.ID, catalog.PetPatch{})
			return err
		},
	} {
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			err := call(ctx)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want context.Canceled", name, err)
			}
		}
	}
}
