package store_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
)

func TestChangePet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	rex := s.pet(t, s.a, catalog.Available)
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
		{"the same again", catalog.PetPatch{Name: &name, CategoryID: &category, Status: &pending}, func(*catalog.Pet) {}},
	} {
		tt.change(&rex)
		got, err := s.Pets.ChangePet(t.Context(), s.a.ID, rex.ID, tt.patch)
		if diff := cmp.Diff(rex, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
		stored, err := s.Pets.GetPet(t.Context(), s.a.ID, rex.ID)
		if diff := cmp.Diff(rex, stored); err != nil || diff != "" {
			t.Errorf("%s, in the table: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func TestChangePetByEveryStep(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	all := []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold}
	for _, from := range all {
		for _, to := range all {
			t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
				t.Parallel()
				want, name := s.pet(t, s.a, from), "changed"
				wantErr := from.CheckStep(to)
				if wantErr == nil {
					want.Status, want.Name = to, name
				}
				_, err := s.Pets.ChangePet(t.Context(), s.a.ID, want.ID, catalog.PetPatch{Name: &name, Status: &to})
				if e := (*catalog.TransitionError)(nil); wantErr == nil && err != nil ||
					wantErr != nil && (!errors.As(err, &e) || e.Error() != wantErr.Error()) {
					t.Errorf("got %v, want %v", err, wantErr)
				}
				stored, err := s.Pets.GetPet(t.Context(), s.a.ID, want.ID)
				if diff := cmp.Diff(want, stored); err != nil || diff != "" {
					t.Errorf("in the table: %v (-want +got):\n%s", err, diff)
				}
			})
		}
	}
}

func TestChangePetOfNobodyOrAnother(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet, name := s.pet(t, s.a, catalog.Available), "stolen"
	for _, tt := range []struct{ tenantID, id int64 }{{s.b.ID, pet.ID}, {s.a.ID, pet.ID + 1}, {s.a.ID, math.MaxInt64}} {
		if _, err := s.Pets.ChangePet(t.Context(), tt.tenantID, tt.id, catalog.PetPatch{Name: &name}); !errors.Is(err, catalog.ErrPetNotFound) {
			t.Errorf("tenant %d, animal %d: %v, want ErrPetNotFound", tt.tenantID, tt.id, err)
		}
	}
	if stored, err := s.Pets.GetPet(t.Context(), s.a.ID, pet.ID); err != nil || stored != pet {
		t.Errorf("the animal is %+v, %v", stored, err)
	}
}

// An open order blocks its animal's status. Its name and category are free, and so is all of it when the order is closed.
func TestOpenOrderBlocksItsAnimalsStatus(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	o := s.order(t, s.a)
	name, available, sold := "Max", catalog.Available, catalog.Sold
	blocked := func(to catalog.Status) {
		t.Helper()
		_, err := s.Pets.ChangePet(t.Context(), s.a.ID, o.PetID, catalog.PetPatch{Status: &to})
		want := catalog.TransitionError{Item: "animal", From: "pending", To: string(to), Held: true}
		if e := (*catalog.TransitionError)(nil); !errors.As(err, &e) || cmp.Diff(want, *e) != "" {
			t.Errorf("to %s: %v, want %v", to, err, &want)
		}
	}
	blocked(available)
	blocked(sold)
	if _, err := s.Pets.ChangePet(t.Context(), s.a.ID, o.PetID, catalog.PetPatch{Name: &name}); err != nil {
		t.Error(err)
	}
	if _, err := s.Orders.ChangeOrder(t.Context(), s.a.ID, o.ID, catalog.OrderPatch{Status: catalog.Approved}); err != nil {
		t.Fatal(err)
	}
	blocked(available)
	if _, err := s.Orders.ChangeOrder(t.Context(), s.a.ID, o.ID, catalog.OrderPatch{Status: catalog.Cancelled}); err != nil {
		t.Fatal(err)
	}
	pending := catalog.Pending
	for _, to := range []catalog.Status{pending, available, pending, sold} {
		if _, err := s.Pets.ChangePet(t.Context(), s.a.ID, o.PetID, catalog.PetPatch{Status: &to}); err != nil {
			t.Errorf("free, to %s: %v", to, err)
		}
	}
}

// A change that waits for an order to be placed sees that order.
func TestChangePetWaitsForOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet := s.pet(t, s.a, catalog.Available)
	tx := s.owner.MustBegin()
	defer func() { _ = tx.Rollback() }()
	tx.MustExec(`update pets set status = 'pending' where id = $1`, pet.ID)
	tx.MustExec(`insert into orders (tenant_id, pet_id, quantity, status, created_at) values ($1, $2, 1, 'placed', now())`, s.a.ID, pet.ID)
	done := make(chan error, 1)
	go func() {
		available := catalog.Available
		_, err := s.Pets.ChangePet(t.Context(), s.a.ID, pet.ID, catalog.PetPatch{Status: &available})
		done <- err
	}()
	const waiting = `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`
	for s.text(t, waiting) == "false" {
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, catalog.ErrInvalidTransition) {
		t.Errorf("got %v, want ErrInvalidTransition", err)
	}
	if status := s.petStatus(t, s.a, pet.ID); status != catalog.Pending {
		t.Errorf("the ordered animal is %s", status)
	}
}
