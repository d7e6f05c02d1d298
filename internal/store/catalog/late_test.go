package catalog_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

// customerWrite is a write for a customer. It has an order, and the animal of another one that can
// be ordered.
type customerWrite func(ctx context.Context, db *store.DB, tenantID int64, o catalog.Order, pet catalog.Pet) error

// customerWrites are all of them: what the handlers of the API call.
func customerWrites() map[string]customerWrite {
	rex, luna, pending := catalog.NewPet{Name: "Rex", Status: catalog.Available}, "Luna", catalog.Pending
	change := func(c catalog.PetPatch) customerWrite {
		return func(ctx context.Context, db *store.DB, tenantID int64, _ catalog.Order, pet catalog.Pet) error {
			return fixture.ErrorOf(db.Pets.ChangePet(ctx, tenantID, pet.ID, c))
		}
	}
	changeOrder := func(to catalog.OrderStatus) customerWrite {
		return func(ctx context.Context, db *store.DB, tenantID int64, o catalog.Order, _ catalog.Pet) error {
			return fixture.ErrorOf(db.Orders.ChangeOrder(ctx, tenantID, o.ID, catalog.OrderPatch{Status: to}))
		}
	}
	return map[string]customerWrite{
		"create": func(ctx context.Context, db *store.DB, tenantID int64, _ catalog.Order, _ catalog.Pet) error {
			return fixture.ErrorOf(db.Pets.CreatePet(ctx, tenantID, rex))
		},
		"create with a key": func(ctx context.Context, db *store.DB, tenantID int64, _ catalog.Order,
			_ catalog.Pet) error {
			return fixture.ErrorOf(
				db.Idempotency.CreatePetOnce(ctx, tenantID, fixture.Adding(fixture.Request("one", "Rex"), "Rex")),
			)
		},
		"change":            change(catalog.PetPatch{Name: &luna}),
		"change the status": change(catalog.PetPatch{Status: &pending}),
		"change with a precondition": change(
			catalog.PetPatch{Name: &luna, Precondition: func(catalog.Pet) error { return nil }},
		),
		"place an order": func(ctx context.Context, db *store.DB, tenantID int64, _ catalog.Order,
			pet catalog.Pet) error {
			return fixture.ErrorOf(db.Orders.PlaceOrder(ctx, tenantID, catalog.NewOrder{PetID: pet.ID, Quantity: 1}))
		},
		"place an order with a key": func(ctx context.Context, db *store.DB, tenantID int64, _ catalog.Order,
			pet catalog.Pet) error {
			return fixture.ErrorOf(db.Idempotency.PlaceOrderOnce(ctx, tenantID, fixture.Ordering("order", pet.ID)))
		},
		"approve an order": changeOrder(catalog.Approved),
		"cancel an order":  changeOrder(catalog.Cancelled),
	}
}

// customersRows returns all rows of customers as text.
func customersRows(t *testing.T, s fixture.Shop) (rows string) {
	t.Helper()
	err := s.Owner.Get(&rows, `select coalesce(string_agg(r, e'\n' order by r), '') from (
		select p::text as r from pets p union all select o::text from orders o union all select k::text from
			idempotency_keys k) all_rows`)
	assert.NoError(t, err)
	return rows
}

// TestLateWritesAreRefused: a write that Postgres would commit after its deadline is refused, and
// its error says that it was not made. The same write is made in time.
func TestLateWritesAreRefused(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	late := storetest.Open(
		t,
		s.APIURL,
		store.Options{AsAPI: true, Earliest: func(end time.Time) time.Time { return end.Add(-time.Hour) }},
	)
	for name, write := range customerWrites() {
		t.Run(name, func(t *testing.T) {
			order, pet := s.Order(t, s.A), s.Pet(t, s.A, catalog.Available)
			before := customersRows(t, s)
			if err := write(
				t.Context(),
				late,
				s.A.ID,
				order,
				pet,
			); !errors.Is(err, catalog.ErrNotMade) ||
				!errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%v, want ErrNotMade and ErrUnavailable", err)
			}
			assert.DeepEqual(t, customersRows(t, s), before, "it was made")
			if err := write(t.Context(), s.DB, s.A.ID, order, pet); err != nil || customersRows(t, s) == before {
				t.Errorf("in time: %v", err)
			}
		})
	}
}

// TestAbandonedWritesAreNotBegun: a write for which nobody waits any more when its turn has come is
// not begun. Reads are not asked about.
func TestAbandonedWritesAreNotBegun(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	abandoned := storetest.Open(
		t,
		s.APIURL,
		store.Options{AsAPI: true, Abandoned: func(context.Context) bool { return true }},
	)
	order, pet := s.Order(t, s.A), s.Pet(t, s.A, catalog.Available)
	before := customersRows(t, s)
	for name, write := range customerWrites() {
		err := write(t.Context(), abandoned, s.A.ID, order, pet)
		assert.ErrorIs(t, err, catalog.ErrNotMade, name)
		assert.ErrorIs(t, err, context.Canceled, name)
		assert.DeepEqual(t, customersRows(t, s), before, name, "it was made")
	}
	_, err := abandoned.Pets.GetPet(t.Context(), s.A.ID, pet.ID)
	assert.NoError(t, err, "a read")
}

// TestWhileADumpIsRestored: while tables or rights are not there yet, the API's database is
// unavailable, and nothing is made. To staff it is said what is missing. When all is there again,
// writes work at once, although types have other numbers than those for which they were prepared.
func TestWhileADumpIsRestored(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	dump := filepath.Join(t.TempDir(), "dump")
	run := func(name string, args ...string) {
		t.Helper()
		out, err := sandbox.Command(t, storetest.Program(t, name), args...).CombinedOutput()
		assert.NoError(t, err, string(out))
	}
	run("pg_dump", "--format=custom", "--file", dump, "--dbname", s.URL)
	order, pet := s.Order(t, s.A), s.Pet(t, s.A, catalog.Available)
	staff := storetest.Open(t, s.URL, store.Options{})
	for _, missing := range []string{
		`revoke all on pets, orders, idempotency_keys from petstore_api`, `drop policy pets_of_tenant on pets`,
		`alter table pets rename to restored`,
	} {
		s.Exec(t, missing)
		for name, write := range customerWrites() {
			if err := write(
				t.Context(),
				s.DB,
				s.A.ID,
				order,
				pet,
			); !errors.Is(err, catalog.ErrNotMade) ||
				!errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: %s: %v, want ErrNotMade and ErrUnavailable", missing, name, err)
			}
		}
		_, _, err := s.Pets.ListPets(t.Context(), s.A.ID, catalog.Page{Limit: 1})
		assert.ErrorIs(t, err, store.ErrUnavailable, missing, "a list")
	}
	if _, err := staff.Pets.GetPet(t.Context(), s.A.ID, pet.ID); err == nil || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("staff: %v", err)
	}
	s.Exec(t, `alter table restored rename to pets; drop table usage_hourly, usage_daily, audit_entries cascade`)
	run("pg_restore", "--clean", "--if-exists", "--dbname", s.URL, dump)
	_, err := s.Pets.CreatePet(t.Context(), s.A.ID, catalog.NewPet{Name: "Rex", Status: catalog.Available})
	assert.NoError(t, err, "a create after the restore")
}

// TestNoRowIsNotMade: an INSERT that Postgres commits without a row is no 201, and stores no answer
// to the idempotency key.
func TestNoRowIsNotMade(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	swallow(t, s, "pets")
	before := customersRows(t, s)
	for _, name := range []string{"create", "create with a key"} {
		err := customerWrites()[name](t.Context(), s.DB, s.A.ID, catalog.Order{}, catalog.Pet{})
		if !errors.Is(err, catalog.ErrNotMade) || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrNotMade and ErrUnavailable", name, err)
		}
	}
	assert.DeepEqual(t, customersRows(t, s), before, "made")
}

// swallow lets no INSERT make a row of the table.
func swallow(t *testing.T, s fixture.Shop, table string) {
	t.Helper()
	s.Exec(t, `create function swallow() returns trigger language plpgsql as 'begin return null; end';
		create trigger swallow before insert on `+table+` for each row execute function swallow()`)
}
