package pgconn_test

import (
	"context"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// TestGivenUpIsCanceled: a call whose context ends returns context.Canceled, whatever the database
// did. The API does not refund a request of a client that hangs up, which would be a way around the
// limit.
func TestGivenUpIsCanceled(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = storetest.Open(t, s.APIURL, store.Options{AsAPI: true, Timeout: fixture.ShortTimeout})
	rex := s.Add(t, s.A, "Rex")[0]
	holder := s.Owner.MustBegin()
	defer func() { _ = holder.Rollback() }()
	holder.MustExec(`lock table pets in access exclusive mode`)
	for name, call := range map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, _, err := s.Pets.ListPets(ctx, s.A.ID, catalog.Page{Limit: 20})
			return err
		},
		"change": func(ctx context.Context) error {
			_, err := s.Pets.ChangePet(ctx, s.A.ID, rex.ID, catalog.PetPatch{})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		assert.ErrorIs(t, call(ctx), context.Canceled, name)
	}
}
