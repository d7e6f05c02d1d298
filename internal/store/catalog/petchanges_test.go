package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

func TestChangePet(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	rex := s.Pet(t, s.A, catalog.Available)
	name, category, pending := "Luna 🐈", int64(math.MinInt64), catalog.Pending
	for _, tt := range []struct {
		name   string
		patch  catalog.PetPatch
		change func(*catalog.Pet)
	}{
		{"nothing", catalog.PetPatch{}, func(*catalog.Pet) {}},
		{"name", catalog.PetPatch{Name: &name}, func(p *catalog.Pet) { p.Name = name }},
		{"category", catalog.PetPatch{CategoryID: &category}, func(p *catalog.Pet) { p.CategoryID = category }},
		{"status", catalog.PetPatch{Status: &pending}, func(p *catalog.Pet) { p.Status = pending }},
		{"the same again", catalog.PetPatch{Name: &name, CategoryID: &category, Status: &pending},
			func(*catalog.Pet) {}},
	} {
		tt.change(&rex)
		got, err := s.Pets.ChangePet(t.Context(), s.A.ID, rex.ID, tt.patch)
		assert.Result(t, got, err, rex, tt.name)
		stored, err := s.Pets.GetPet(t.Context(), s.A.ID, rex.ID)
		assert.Result(t, stored, err, rex, tt.name, "in the table")
	}
}

// TestEachFieldIsStored: each field of an animal that clients write is created, with a key and
// without, changed in both ways, and selects a list by the filter of its name.
func TestEachFieldIsStored(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	first := catalog.NewPet{Name: "a", CategoryID: 1, Status: catalog.Available}
	second := catalog.NewPet{Name: "b", CategoryID: 2, Status: catalog.Pending}
	of := func(p *catalog.NewPet, field string) reflect.Value {
		return reflect.ValueOf(p).Elem().FieldByName(field)
	}
	fields := reflect.VisibleFields(reflect.TypeFor[catalog.NewPet]())
	for _, f := range fields {
		if v := of(&first, f.Name); v.IsZero() { // a new one
			v.SetString("a")
			of(&second, f.Name).SetString("b")
		}
	}
	want, err := s.Pets.CreatePet(t.Context(), s.A.ID, first)
	if diff := cmp.Diff(first, want.NewPet); err != nil || diff != "" {
		t.Fatalf("created: %v (-want +got):\n%s", err, diff)
	}
	_, err = s.Pets.CreatePet(t.Context(), s.B.ID, first)
	assert.NoError(t, err)
	withKey := fixture.Adding(fixture.Request("k", "k"), "")
	withKey.New = second
	withKey.Answer = func(p *catalog.Pet) (catalog.Answer, error) {
		assert.Equal(t, p.NewPet, second, "created with a key")
		return catalog.Answer{Body: []byte{}}, nil
	}
	_, err = s.Idempotency.CreatePetOnce(t.Context(), s.B.ID, withKey)
	assert.NoError(t, err)
	stored := func(what string) {
		t.Helper()
		if got, err := s.Pets.GetPet(t.Context(), s.A.ID, want.ID); err != nil || got != want {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, cmp.Diff(want, got))
		}
	}
	stored("created")
	for _, precondition := range []func(catalog.Pet) error{nil, func(catalog.Pet) error { return nil }} {
		for _, f := range fields {
			patch, to := catalog.PetPatch{Precondition: precondition}, reflect.New(f.Type)
			to.Elem().Set(of(&second, f.Name))
			reflect.ValueOf(&patch).Elem().FieldByName(f.Name).Set(to)
			of(&want.NewPet, f.Name).Set(to.Elem())
			if got, err := s.Pets.ChangePet(t.Context(), s.A.ID, want.ID, patch); err != nil || got != want {
				t.Errorf("%s changed: %v (-want +got):\n%s", f.Name, err, cmp.Diff(want, got))
			}
			stored(f.Name + " changed")
		}
		first, second = second, first
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[catalog.Page]()) {
		name := strings.TrimSuffix(f.Name, "Prefix")
		value := of(&first, name)
		if !value.IsValid() {
			continue // the position of the page, or IDs
		}
		p := catalog.Page{Limit: 10}
		if to := reflect.ValueOf(&p).Elem().FieldByName(f.Name); f.Type.Kind() == reflect.Pointer {
			to.Set(value.Addr())
		} else {
			to.Set(value)
		}
		if got, _, err := s.Pets.ListPets(
			t.Context(),
			s.B.ID,
			p,
		); err != nil || len(got) != 1 ||
			got[0].NewPet != first {
			t.Errorf("list by %s: %v, %v", f.Name, got, err)
		}
	}
}

func TestChangePetByEveryStep(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	all := []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold}
	for _, from := range all {
		for _, to := range all {
			t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
				t.Parallel()
				want, name := s.Pet(t, s.A, from), "changed"
				wantErr := from.CheckStep(to)
				if wantErr == nil {
					want.Status, want.Name = to, name
				}
				_, err := s.Pets.ChangePet(t.Context(), s.A.ID, want.ID, catalog.PetPatch{Name: &name, Status: &to})
				if e := (*catalog.TransitionError)(nil); wantErr == nil && err != nil ||
					wantErr != nil && (!errors.As(err, &e) || e.Error() != wantErr.Error()) {
					t.Errorf("got %v, want %v", err, wantErr)
				}
				stored, err := s.Pets.GetPet(t.Context(), s.A.ID, want.ID)
				assert.Result(t, stored, err, want, "in the table")
			})
		}
	}
}

func TestChangePetOfNobodyOrAnother(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	pet, name := s.Pet(t, s.A, catalog.Available), "stolen"
	for _, tt := range []struct{ tenantID, id int64 }{{s.B.ID, pet.ID}, {s.A.ID, pet.ID + 1}, {s.A.ID, math.MaxInt64}} {
		_, err := s.Pets.ChangePet(t.Context(), tt.tenantID, tt.id, catalog.PetPatch{Name: &name})
		assert.ErrorIs(t, err, catalog.ErrPetNotFound, "tenant", tt.tenantID, "animal", tt.id)
	}
	stored, err := s.Pets.GetPet(t.Context(), s.A.ID, pet.ID)
	assert.Result(t, stored, err, pet, "the animal")
}

// An open order blocks its animal's status. Its name and category are free, and so is all of it
// when the order is closed.
func TestOpenOrderBlocksItsAnimalsStatus(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	o := s.Order(t, s.A)
	name, available, sold := "Max", catalog.Available, catalog.Sold
	blocked := func(to catalog.Status) {
		t.Helper()
		_, err := s.Pets.ChangePet(t.Context(), s.A.ID, o.PetID, catalog.PetPatch{Status: &to})
		want := catalog.TransitionError{Item: "animal", From: "pending", To: string(to), Held: true}
		if e := (*catalog.TransitionError)(nil); !errors.As(err, &e) || cmp.Diff(want, *e) != "" {
			t.Errorf("to %s: %v, want %v", to, err, &want)
		}
	}
	blocked(available)
	blocked(sold)
	_, err := s.Pets.ChangePet(t.Context(), s.A.ID, o.PetID, catalog.PetPatch{Name: &name})
	assert.Equal(t, err, nil)
	_, err = s.Orders.ChangeOrder(t.Context(), s.A.ID, o.ID, catalog.OrderPatch{Status: catalog.Approved})
	assert.NoError(t, err)
	blocked(available)
	_, err = s.Orders.ChangeOrder(t.Context(), s.A.ID, o.ID, catalog.OrderPatch{Status: catalog.Cancelled})
	assert.NoError(t, err)
	pending := catalog.Pending
	for _, to := range []catalog.Status{pending, available, pending, sold} {
		_, err := s.Pets.ChangePet(t.Context(), s.A.ID, o.PetID, catalog.PetPatch{Status: &to})
		assert.Equal(t, err, nil, "free, to", to)
	}
}

// TestChangesSeeWhatTheyWaitedFor: a change that began while another one was not yet committed
// obeys it, and does not overwrite it.
func TestChangesSeeWhatTheyWaitedFor(t *testing.T) {
	t.Parallel()
	available, pending := catalog.Available, catalog.Pending
	changePet := func(to catalog.Status) func(s fixture.Shop, pet, order int64) error {
		return func(s fixture.Shop, pet, _ int64) error {
			_, err := s.Pets.ChangePet(context.Background(), s.A.ID, pet, catalog.PetPatch{Status: &to})
			return err
		}
	}
	for name, c := range map[string]struct {
		from   catalog.Status
		order  bool // the animal has an approved order
		first  []string
		second func(s fixture.Shop, pet, order int64) error
		want   string // the statuses of the animal and its last order
	}{
		"an order is placed, the animal is made available": {
			from: pending, first: []string{`update pets set status = 'pending' where id = $1`,
				`insert into orders (tenant_id, pet_id, quantity, status, created_at) select tenant_id, id, 1,
					'placed', now() from pets where id = $1`},
			second: changePet(available), want: "pending placed",
		},
		"the animal is sold, then pending": {from: available,
			first: []string{`update pets set status = 'sold' where id = $1`}, second: changePet(pending),
			want: "sold "},
		"the order is cancelled, then delivered": {
			from: available, order: true,
			first: []string{`update orders set status = 'cancelled' where pet_id = $1`,
				`update pets set status = 'available' where id = $1`},
			second: func(s fixture.Shop, _, order int64) error {
				_,
					err := s.Orders.ChangeOrder(context.Background(), s.A.ID, order,
					catalog.OrderPatch{Status: catalog.Delivered})
				return err
			},
			want: "available cancelled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fixture.NewShop(t)
			pet, order := s.Pet(t, s.A, c.from).ID, int64(0)
			if c.order {
				o := s.Order(t, s.A)
				pet, order = o.PetID, o.ID
				s.Exec(t, `update orders set status = 'approved'`)
			}
			tx := s.Owner.MustBegin()
			defer func() { _ = tx.Rollback() }()
			for _, statement := range c.first {
				tx.MustExec(statement, pet)
			}
			done := make(chan error, 1)
			go func() { done <- c.second(s, pet, order) }()
			const waits = `select exists (select from pg_stat_activity where datname = current_database() and
				wait_event_type = 'Lock')`
			wait.Until(t, "a change that waits for a lock", func() bool { return s.Text(t, waits) == "true" })
			assert.NoError(t, tx.Commit())
			assert.ErrorIs(t, <-done, catalog.ErrInvalidTransition)
			const statuses = `select p.status || ' ' || coalesce((select o.status from orders o where o.pet_id = p.id
				order by o.id desc limit 1), '') from pets p where p.id = `
			assert.Equal(t, s.Text(t, statuses+strconv.FormatInt(pet, 10)), c.want, "the animal and its order")
		})
	}
}

// TestWritesSeeWhatTheyWaitedFor: a change and an order that waited for another change begin with
// what that one left, and keep it.
func TestWritesSeeWhatTheyWaitedFor(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	s.DB = s.Server(t)
	pet := s.Pet(t, s.A, catalog.Available)
	tx := s.Owner.MustBegin()
	defer func() { _ = tx.Rollback() }()
	tx.MustExec(`update pets set category_id = 99, status = 'sold' where id = $1`, pet.ID)
	changed, placed := make(chan error, 1), make(chan error, 2)
	want := catalog.Pet{ID: pet.ID, NewPet: catalog.NewPet{Name: "Luna", CategoryID: 99, Status: catalog.Sold}}
	go func() {
		got, err := s.Pets.ChangePet(context.Background(), s.A.ID, pet.ID, catalog.PetPatch{Name: new("Luna")})
		assert.Equal(t, got, want, "changed")
		changed <- err
	}()
	go func() {
		o := catalog.NewOrder{PetID: pet.ID, Quantity: 1}
		placed <- fixture.ErrorOf(s.Orders.PlaceOrder(context.Background(), s.A.ID, o))
	}()
	go func() {
		o := fixture.Ordering("k", pet.ID)
		placed <- fixture.ErrorOf(s.Idempotency.PlaceOrderOnce(context.Background(), s.A.ID, o))
	}()
	const waits = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type =
		'Lock'`
	wait.Until(t, "all wait for a lock", func() bool { return s.Text(t, waits) == "3" })
	assert.NoError(t, tx.Commit())
	assert.NoError(t, <-changed)
	stored, err := s.Pets.GetPet(t.Context(), s.A.ID, pet.ID)
	assert.Result(t, stored, err, want, "in the table")
	for range 2 {
		assert.ErrorIs(t, <-placed, catalog.ErrPetNotAvailable)
	}
}

// A change is made once or not at all, whatever happens to the connection, and nobody is told that
// it was.
func TestChangePetOverBrokenConnection(t *testing.T) {
	t.Parallel()
	s := fixture.NewShop(t)
	for how, made := range map[fixture.Breakage]bool{fixture.CutRequest: false, fixture.CutAnswer: true} {
		proxy := fixture.NewBreakingProxy(t, s.APIURL)
		db := storetest.Open(t, proxy.URL, store.Options{AsAPI: true, MaxConns: 1, Timeout: fixture.ShortTimeout})
		pet := s.Pet(t, s.A, catalog.Available)
		change := func(name string) error {
			return fixture.ErrorOf(db.Pets.ChangePet(t.Context(), s.A.ID, pet.ID, catalog.PetPatch{Name: &name}))
		}
		assert.NoError(t, change("Milo")) // The statement is prepared.
		proxy.BreakAt(1, how)
		assert.ErrorIs(t, change("Luna"), store.ErrUnavailable, how)
		stored, err := s.Pets.GetPet(t.Context(), s.A.ID, pet.ID)
		assert.NoError(t, err)
		assert.Equal(t, stored.Name == "Luna", made, how, "made")
	}
}
