package store_test

import (
	"context"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/audit"
	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// shop is a database with two tenants, opened as the API does.
type shop struct {
	*store.DB
	database
	a, b plans.Tenant
}

func newShop(t *testing.T) shop {
	t.Helper()
	return newShopOn(t, newDatabase(t))
}

func newShopOn(t *testing.T, database database) shop {
	t.Helper()
	staff := storetest.Open(t, database.URL, store.Options{})
	s := shop{DB: storetest.Open(t, database.URL, store.Options{AsAPI: true}), database: database}
	for name, tenant := range map[string]*plans.Tenant{"a": &s.a, "b": &s.b} {
		var err error
		*tenant, err = staff.Tenants.Create(
			t.Context(),
			audit.By{Actor: "test"},
			people.NewTenant{Name: name, Plan: plans.Free},
			time.Now(),
		)
		assert.NoError(t, err)
	}
	return s
}

func (s shop) add(t *testing.T, tenant plans.Tenant, names ...string) []catalog.Pet {
	t.Helper()
	var pets []catalog.Pet
	for i, name := range names {
		statuses := []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold}
		p, err := s.Pets.CreatePet(
			t.Context(),
			tenant.ID,
			catalog.NewPet{Name: name, CategoryID: math.MinInt64, Status: statuses[i%3]},
		)
		assert.NoError(t, err)
		pets = append(pets, p)
	}
	return pets
}

func TestPets(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pets := s.add(t, s.a, "Rex", "  ünï\u2028code 🐈 ", strings.Repeat("x", 255), "'; drop table pets; --", "five")
	other := s.add(t, s.b, "other")
	assert.DeepEqual(t, s.pets(t, s.b.ID), other, "B's list")
	_, err := s.Pets.GetPet(t.Context(), s.b.ID, pets[0].ID)
	assert.ErrorIs(t, err, catalog.ErrPetNotFound, "B gets A's animal")
	for _, want := range pets {
		got, err := s.Pets.GetPet(t.Context(), s.a.ID, want.ID)
		assert.Result(t, got, err, want, "GetPet", want.ID)
	}
	for _, tt := range []struct {
		name string
		page catalog.Page
		want []catalog.Pet
		more bool
	}{
		{"all", catalog.Page{Limit: 100}, pets, false},
		{"exactly all", catalog.Page{Limit: 5}, pets, false},
		{"first", catalog.Page{Limit: 2}, pets[:2], true},
		{"middle", catalog.Page{Limit: 2, After: pets[1].ID}, pets[2:4], true},
		{"last", catalog.Page{Limit: 2, After: pets[3].ID}, pets[4:], false},
		{"past the end", catalog.Page{Limit: 2, After: math.MaxInt64}, []catalog.Pet{}, false},
		{"by status", catalog.Page{Limit: 1, Status: catalog.Available}, pets[:1], true},
		{"by status, last", catalog.Page{Limit: 2, Status: catalog.Available, After: pets[0].ID}, pets[3:4], false},
	} {
		got, next, err := s.Pets.ListPets(t.Context(), s.a.ID, tt.page)
		wantNext := int64(0)
		if tt.more {
			wantNext = tt.want[len(tt.want)-1].ID
		}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" || next != wantNext {
			t.Errorf("%s: %v, the next page after %d, want %d; (-want +got):\n%s", tt.name, err, next, wantNext, diff)
		}
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	db := storetest.Open(t, server.URL, store.Options{AsAPI: true, Timeout: shortTimeout})
	calls := map[string]func(context.Context) error{
		"list": func(ctx context.Context) error {
			_, _, err := db.Pets.ListPets(ctx, 1, catalog.Page{Limit: 20})
			return err
		},
		"get": func(ctx context.Context) error { _, err := db.Pets.GetPet(ctx, 1, 1); return err },
		"create": func(ctx context.Context) error {
			_, err := db.Pets.CreatePet(ctx, 1, catalog.NewPet{Name: "x", Status: "sold"})
			return err
		},
		"change": func(ctx context.Context) error {
			_, err := db.Pets.ChangePet(ctx, 1, 1, catalog.PetPatch{})
			return err
		},
		"list orders": func(ctx context.Context) error {
			_, _, err := db.Orders.ListOrders(ctx, 1, catalog.OrderPage{Limit: 20})
			return err
		},
		"place order": func(ctx context.Context) error {
			_, err := db.Orders.PlaceOrder(ctx, 1, catalog.NewOrder{PetID: 1, Quantity: 1})
			return err
		},
		"change order": func(ctx context.Context) error {
			_, err := db.Orders.ChangeOrder(ctx, 1, 1, catalog.OrderPatch{Status: catalog.Approved})
			return err
		},
		"once": func(ctx context.Context) error {
			_, _, err := once(ctx, db.Idempotency, 1, adding(request("k", "Rex"), "Rex"))
			return err
		},
		"write usage": func(ctx context.Context) error {
			return db.Usage.WriteUsage(ctx, usage.Batch{ServerID: "s1", Number: 1})
		},
		"write failed requests": func(ctx context.Context) error {
			return db.FailedRequests.WriteFailed(ctx,
				[]usage.FailedRequest{{}})
		},
		"prune":  func(ctx context.Context) error { _, err := db.Idempotency.Prune(ctx, noon, 1); return err },
		"caller": func(ctx context.Context) error { _, err := db.Keys.Caller(ctx, [32]byte{}, time.Now()); return err },
	}
	maps.Copy(calls, staffReads(t, server.URL))
	for _, call := range calls { // whose statements are prepared
		_ = call(t.Context())
	}
	away := func(how string) {
		t.Helper()
		var all sync.WaitGroup
		for name, call := range calls {
			all.Go(func() {
				start := time.Now()
				err := call(t.Context())
				for _, want := range []error{store.ErrUnavailable, catalog.ErrUnavailable, keys.ErrUnavailable,
					usage.ErrUnavailable} {
					assert.ErrorIs(t, err, want, name, "server", how)
				}
				took := time.Since(start)
				assert.True(t, took <= 11*time.Second, name, "server", how, "took", took)
			})
		}
		all.Wait()
	}
	server.Pause()
	away("paused")
	server.Resume()
	server.Stop()
	away("stopped")
	server.Start()
	assert.Equal(t, calls["list"](t.Context()), nil, "list after the server came back")
}

// Full pages of lists outlive creates because an animal that is added later has a higher ID (ADR
// 8): sessions must have no blocks of IDs.
func TestAnimalsHaveRisingIDs(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	assert.Equal(
		t,
		s.text(t, `select cache_size::text from pg_sequences where sequencename = 'pets_id_seq'`),
		"1",
		"IDs a session takes at once",
	)
}
