package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq" // the driver of the raw connections

	"petstore.example/internal/audit"
	"petstore.example/internal/catalog"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/storetest"
)

// shop is a database with two tenants, opened as the API does.
type shop struct {
	*store.DB
	database *storetest.Database
	a, b     plans.Tenant
}

func newShop(t *testing.T) shop {
	t.Helper()
	database := storetest.New(t)
	staff := storetest.Open(t, database.URL, store.Options{})
	s := shop{DB: storetest.Open(t, database.URL, store.Options{AsAPI: true}), database: database}
	for name, tenant := range map[string]*plans.Tenant{"a": &s.a, "b": &s.b} {
		var err error
		*tenant, err = staff.Tenants.Create(t.Context(), audit.By{Actor: "test"}, store.NewTenant{Name: name, Plan: plans.Free}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s shop) add(t *testing.T, tenant plans.Tenant, names ...string) []catalog.Pet {
	t.Helper()
	var pets []catalog.Pet
	for i, name := range names {
		statuses := []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold}
		p, err := s.Pets.CreatePet(t.Context(), tenant.ID, catalog.NewPet{Name: name, CategoryID: math.MinInt64, Status: statuses[i%3]})
		if err != nil {
			t.Fatal(err)
		}
		pets = append(pets, p)
	}
	return pets
}

func TestPets(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pets := s.add(t, s.a, "Rex", "  ünï\u2028code 🐈 ", strings.Repeat("x", 255), "'; drop table pets; --", "five")
	s.add(t, s.b, "other")

	for _, want := range pets {
		if got, err := s.Pets.GetPet(t.Context(), s.a.ID, want.ID); err != nil || got != want {
			t.Errorf("GetPet(%d) = %+v, %v, want %+v", want.ID, got, err, want)
		}
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
		t.Run(tt.name, func(t *testing.T) {
			got, more, err := s.Pets.ListPets(t.Context(), s.a.ID, tt.page)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || more != tt.more {
				t.Errorf("more %v, want %v; page (-want +got):\n%s", more, tt.more, diff)
			}
		})
	}
}

func TestTenantsNeverMeetInTheStore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ofA, ofB := s.add(t, s.a, "A1", "A2"), s.add(t, s.b, "B1")
	if _, err := s.Pets.GetPet(t.Context(), s.b.ID, ofA[0].ID); !errors.Is(err, catalog.ErrPetNotFound) {
		t.Errorf("B gets A's animal: %v, want ErrPetNotFound", err)
	}
	got, _, err := s.Pets.ListPets(t.Context(), s.b.ID, catalog.Page{Limit: 100})
	if diff := cmp.Diff(ofB, got); err != nil || diff != "" {
		t.Errorf("B's list: %v (-want +got):\n%s", err, diff)
	}
}

// Row-level security holds even where a filter was forgotten.
func TestSecondWall(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.add(t, s.a, "A1", "A2")
	s.add(t, s.b, "B1")
	raw, err := sqlx.Open("postgres", s.database.APIURL)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	raw.SetMaxOpenConns(1)

	count := func(before string, args ...any) (n int) {
		t.Helper()
		tx := raw.MustBegin()
		defer func() { _ = tx.Rollback() }()
		if before != "" {
			tx.MustExec(before, args...)
		}
		if err := tx.Get(&n, `select count(*) from pets`); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const set = `select set_config('petstore.tenant_id', $1, true)`
	if n := count(""); n != 0 {
		t.Errorf("without a tenant %d rows are seen", n)
	}
	if n := count(set, fmt.Sprint(s.a.ID)); n != 2 {
		t.Errorf("for tenant A %d rows are seen, want 2", n)
	}
	if n := count(set, fmt.Sprint(s.b.ID)); n != 1 {
		t.Errorf("for tenant B %d rows are seen, want 1", n)
	}
	if n := count(""); n != 0 {
		t.Errorf("on a connection that was another tenant's %d rows are seen", n)
	}
	tx := raw.MustBegin()
	defer func() { _ = tx.Rollback() }()
	tx.MustExec(set, fmt.Sprint(s.a.ID))
	_, err = tx.Exec(`insert into pets (tenant_id, name, category_id, status, created_at) values ($1, 'x', 1, 'sold', now())`, s.b.ID)
	if err == nil {
		t.Error("a row was written for another tenant than the one set")
	}
}

// The list is one index scan that begins at the page, whichever page it is.
func TestListPetsPlan(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	owner, err := sqlx.Open("postgres", s.database.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	owner.MustExec(`insert into pets (tenant_id, name, category_id, status, created_at)
		select $1, 'pet', 1, 'available', now() from generate_series(1, 20000)`, s.a.ID)
	owner.MustExec(`analyze pets`)
	raw, err := sqlx.Open("postgres", s.database.APIURL)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for name, query := range store.PetQueries(s.a.ID, 19000) {
		var plan []string
		if err := raw.Select(&plan, `explain (analyze, costs off, timing off, summary off) `+query); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(plan, "\n")
		if strings.Contains(text, "Seq Scan") || !strings.Contains(text, "Index Scan using pets") || strings.Contains(text, "Rows Removed") {
			t.Errorf("%s is no plain index scan:\n%s", name, text)
		}
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	server := storetest.NewServer(t)
	db := storetest.Open(t, server.URL, store.Options{AsAPI: true})
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
			_, err := db.Orders.ChangeOrder(ctx, 1, 1, catalog.Approved)
			return err
		},
		"once": func(ctx context.Context) error {
			_, _, err := db.Idempotency.Once(ctx, 1, request("k", "Rex"), adding(1, "Rex"))
			return err
		},
		"prune":  func(ctx context.Context) error { _, err := db.Idempotency.Prune(ctx, noon, 1); return err },
		"caller": func(ctx context.Context) error { _, err := db.Keys.Caller(ctx, [32]byte{}, time.Now()); return err },
	}
	away := func(how string) {
		t.Helper()
		var all sync.WaitGroup
		for name, call := range calls {
			all.Go(func() {
				start := time.Now()
				if err := call(t.Context()); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, catalog.ErrUnavailable) {
					t.Errorf("%s, server %s: %v, want ErrUnavailable", name, how, err)
				}
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("%s, server %s: took %v", name, how, took)
				}
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
	if err := calls["list"](t.Context()); err != nil {
		t.Errorf("list after the server came back: %v", err)
	}
}
