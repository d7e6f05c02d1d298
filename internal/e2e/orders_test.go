package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	petstore "petstore.example/client"
	"petstore.example/internal/plans"
)

// TestManyOrdersForOneAnimal: of 100 orders for one animal at the same time, over two servers, one is placed.
func TestManyOrdersForOneAnimal(t *testing.T) {
	t.Parallel()
	const orders = 100
	h := newHouse(t, false)
	servers := []*server{h.serve(), h.serve()}
	tn := h.tenant(plans.Enterprise, roomy, 1)
	stores := []*petstore.Client{h.store(servers[0], tn.keys[0].token), h.store(servers[1], tn.keys[0].token)}
	for round, id := range h.insertPets(tn, 4) {
		// With a key, which the client always sends, and without one an order takes other ways through the server.
		how, order := "plain", func(i int) answer {
			return h.client.do(context.Background(), http.MethodPost, servers[i%2].url+"/store/orders", tn.keys[0].token, fmt.Sprintf(`{"petId":%d}`, id))
		}
		if round%2 == 1 {
			how, order = "by the client", func(i int) answer {
				_, err := stores[i%2].PlaceOrder(t.Context(), petstore.NewOrder{PetID: id})
				return answerTo(err)
			}
		}
		answers := tally(atOnce(orders, order))
		t.Logf("%d orders for one animal at once on 2 servers, %s: %v", orders, how, answers)
		if diff := cmp.Diff(map[string]int{"201": 1, "409 pet_not_available": orders - 1}, answers); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if n := h.number(`select count(*) from orders where tenant_id = $1 and pet_id = $2`, tn.ID, id); n != 1 {
			t.Errorf("%d orders are stored", n)
		}
		h.wantStatus(stores[0], id, petstore.PetPending)
	}
}

// answerTo is the answer that the client made err of, as far as it tells.
func answerTo(err error) answer {
	var e *petstore.Error
	switch {
	case err == nil:
		return answer{status: http.StatusCreated}
	case errors.As(err, &e):
		return answer{status: e.Status, code: string(e.Code)}
	}
	return answer{err: err}
}

func (h *house) wantStatus(store *petstore.Client, pet int64, want petstore.PetStatus) {
	h.t.Helper()
	got, err := getPet(h.t.Context(), store, pet)
	if err != nil {
		h.t.Error(err)
	} else if got.Status != want {
		h.t.Errorf("animal %d is %s, want %s", pet, got.Status, want)
	}
}

// TestOrderMovesItsAnimal: delivered makes the animal sold, cancelled makes it available again, whichever server is asked.
func TestOrderMovesItsAnimal(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	servers := []*server{h.serve(), h.serve()}
	tn, other := h.tenant(plans.Enterprise, roomy, 1), h.tenant(plans.Enterprise, roomy, 1)
	store, second := h.store(servers[0], tn.keys[0].token), h.store(servers[1], tn.keys[0].token)
	stranger := h.store(servers[0], other.keys[0].token)
	id := h.insertPets(tn, 1)[0]

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
		h.wantStatus(second, id, petstore.PetPending)
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
		h.wantStatus(store, id, pet)
	}

	first := place()
	h.wantStrange(stranger, id, first.ID)
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
	var listed []petstore.Order
	for o, err := range second.Orders(t.Context(), petstore.ListOrdersParams{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, o)
	}
	if diff := cmp.Diff([]petstore.Order{*first, *again}, listed); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

// wantStrange: another tenant's animal and order do not exist.
func (h *house) wantStrange(stranger *petstore.Client, pet, order int64) {
	h.t.Helper()
	if _, err := stranger.PlaceOrder(h.t.Context(), petstore.NewOrder{PetID: pet}); !errors.Is(err, petstore.CodePetNotFound) {
		h.t.Errorf("an order for another tenant's animal: %v", err)
	}
	to := petstore.OrderCancelled
	if _, err := stranger.UpdateOrder(h.t.Context(), order, petstore.OrderPatch{Status: &to}); !errors.Is(err, petstore.CodeOrderNotFound) {
		h.t.Errorf("another tenant's order: %v", err)
	}
	page, err := stranger.ListOrders(h.t.Context(), petstore.ListOrdersParams{})
	if err != nil || len(page.Orders) > 0 {
		h.t.Errorf("the list of a tenant without orders: %v, %v", page, err)
	}
}

// TestOrdersChangedAtTheSameTime: an order that is delivered and cancelled at the same time, over two servers, goes one
// of the two ways, and its animal with it.
func TestOrdersChangedAtTheSameTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t, false)
	servers := []*server{h.serve(), h.serve()}
	tn := h.tenant(plans.Enterprise, roomy, 1)
	stores := []*petstore.Client{h.store(servers[0], tn.keys[0].token), h.store(servers[1], tn.keys[0].token)}
	ends := map[petstore.OrderStatus]petstore.PetStatus{
		petstore.OrderDelivered: petstore.PetSold, petstore.OrderCancelled: petstore.PetAvailable,
	}
	ways := slices.Sorted(maps.Keys(ends))
	won := map[petstore.OrderStatus]int{}
	for _, id := range h.insertPets(tn, 20) {
		o, err := stores[0].PlaceOrder(t.Context(), petstore.NewOrder{PetID: id})
		if err != nil {
			t.Fatal(err)
		}
		to := petstore.OrderApproved
		if _, err := stores[1].UpdateOrder(t.Context(), o.ID, petstore.OrderPatch{Status: &to}); err != nil {
			t.Fatal(err)
		}
		answers := atOnce(8, func(i int) answer {
			_, err := stores[i/2%2].UpdateOrder(t.Context(), o.ID, petstore.OrderPatch{Status: &ways[i%2]})
			return answerTo(err)
		})
		// To be told again what it is already is no step.
		if diff := cmp.Diff(map[string]int{"201": 4, "409 invalid_transition": 4}, tally(answers)); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		winner := ways[0]
		if answers[0].status != http.StatusCreated {
			winner = ways[1]
		}
		won[winner]++
		h.wantStatus(stores[0], id, ends[winner])
	}
	t.Logf("delivered and cancelled at once, on 2 servers: %v", won)
}
