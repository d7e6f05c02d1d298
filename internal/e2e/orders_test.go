package e2e_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	petstore "petstore.example/client"
	"petstore.example/internal/plans"
)

// responseOf returns the status and code of the Go client's error.
func responseOf(err error) response {
	var e *petstore.Error
	switch {
	case err == nil:
		return response{status: http.StatusCreated}
	case errors.As(err, &e):
		return response{status: e.Status, code: string(e.Code)}
	}
	return response{err: err}
}

func expectStatus(d *deployment, store *petstore.Client, pet int64, want petstore.PetStatus) {
	d.t.Helper()
	got, err := getPet(d.t.Context(), store, pet)
	if err != nil {
		d.t.Error(err)
	} else if got.Status != want {
		d.t.Errorf("animal %d is %s, want %s", pet, got.Status, want)
	}
}

// TestOrderMovesItsAnimal: a delivered order makes the animal sold, and a cancelled one makes it available again, on any server.
func TestOrderMovesItsAnimal(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	servers := []*server{d.serve(), d.serve()}
	tn, other := d.tenant(plans.Enterprise, hugeQuota, 1), d.tenant(plans.Enterprise, hugeQuota, 1)
	store, second := d.store(servers[0], tn.keys[0].token), d.store(servers[1], tn.keys[0].token)
	stranger := d.store(servers[0], other.keys[0].token)
	id := d.insertPets(tn, 1)[0]

	place := func() *petstore.Order {
		t.Helper()
		o, err := store.PlaceOrder(t.Context(), petstore.NewOrder{PetID: id, Quantity: 3})
		if err != nil {
			t.Fatal(err)
		}
		want := &petstore.Order{PetID: id, Quantity: 3, Status: petstore.OrderPlaced}
		if diff := cmp.Diff(want, o, cmpopts.IgnoreFields(petstore.Order{}, "ID", "CreatedAt")); diff != "" {
			t.Errorf("placed (-want +got):\n%s", diff)
		}
		expectStatus(d, second, id, petstore.PetPending)
		return o
	}
	step := func(o *petstore.Order, to petstore.OrderStatus, pet petstore.PetStatus) {
		t.Helper()
		got, err := second.UpdateOrder(t.Context(), o.ID, petstore.OrderPatch{Status: &to})
		if err != nil {
			t.Fatal(err)
		}
		o.Status = to
		if diff := cmp.Diff(o, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", to, diff)
		}
		expectStatus(d, store, id, pet)
	}

	first := place()
	checkInvisible(d, stranger, id, first.ID)
	step(first, petstore.OrderApproved, petstore.PetPending)
	step(first, petstore.OrderCancelled, petstore.PetAvailable)
	again := place()
	step(again, petstore.OrderApproved, petstore.PetPending)
	step(again, petstore.OrderDelivered, petstore.PetSold)
	if _, err := store.PlaceOrder(t.Context(), petstore.NewOrder{PetID: id}); !errors.Is(err, petstore.CodePetNotAvailable) {
		t.Errorf("an order for a sold animal: %v", err)
	}
	back := petstore.OrderPlaced
	if _, err := store.UpdateOrder(t.Context(), again.ID, petstore.OrderPatch{Status: &back}); !errors.Is(err, petstore.CodeInvalidTransition) {
		t.Errorf("from delivered to placed: %v", err)
	}
	listed := collect(t, second.Orders(t.Context(), petstore.ListOrdersParams{Limit: 1}))
	if diff := cmp.Diff([]petstore.Order{*first, *again}, listed); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

// checkInvisible: another tenant's animal and order do not exist.
func checkInvisible(d *deployment, stranger *petstore.Client, pet, order int64) {
	d.t.Helper()
	if _, err := stranger.PlaceOrder(d.t.Context(), petstore.NewOrder{PetID: pet}); !errors.Is(err, petstore.CodePetNotFound) {
		d.t.Errorf("an order for another tenant's animal: %v", err)
	}
	to := petstore.OrderCancelled
	if _, err := stranger.UpdateOrder(d.t.Context(), order, petstore.OrderPatch{Status: &to}); !errors.Is(err, petstore.CodeOrderNotFound) {
		d.t.Errorf("another tenant's order: %v", err)
	}
	page, err := stranger.ListOrders(d.t.Context(), petstore.ListOrdersParams{})
	if err != nil || len(page.Orders) > 0 {
		d.t.Errorf("the list of a tenant without orders: %v, %v", page, err)
	}
}
