package e2e_test

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	petstore "petstore.example/client"
	"petstore.example/internal/plans"
)

// perMinute is the limit of the tenant, which is less than a day's.
const perMinute = 1_000_000

// TestGoClient: every operation of the Go client, on two servers in turn. What the client makes of each answer, its own tests hold.
func TestGoClient(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	servers := []*server{d.serve(), d.serve()}
	tn := d.tenant(plans.Enterprise, &plans.Quota{PerMinute: perMinute, PerDay: 10 * perMinute}, 1)
	first, second := d.store(servers[0], tn.keys[0].token), d.store(servers[1], tn.keys[0].token)
	pets := checkPets(t, first, second)
	checkOrders(t, first, second, pets[0].ID)

	usage, err := first.GetUsage(t.Context())
	if err != nil || usage.Tenant != tn.Name || usage.Windows.Minute.Limit != perMinute {
		t.Errorf("usage: %+v, %v", usage, err)
	}
	_, err = d.store(servers[0], "pst_live_none").ListPets(t.Context(), petstore.ListPetsParams{})
	var e *petstore.Error
	want := petstore.Error{Method: "GET", Path: "/v1/pets", Status: 401, Code: petstore.CodeInvalidAPIKey}
	if !errors.As(err, &e) || e.Message == "" || e.RequestID == "" || e.Rate.Limit == 0 {
		t.Fatalf("an unknown key: %#v", err)
	}
	if diff := cmp.Diff(want, *e, cmpopts.IgnoreFields(petstore.Error{}, "Message", "RequestID", "Rate")); diff != "" {
		t.Errorf("an unknown key (-want +got):\n%s", diff)
	}
}

// checkPets creates, replays, updates, gets and lists animals, and returns them.
func checkPets(t *testing.T, first, second *petstore.Client) (pets []petstore.Pet) {
	t.Helper()
	ctx := t.Context()
	name, category, status := "Max", int64(7), petstore.PetPending
	for i := range 5 {
		in := petstore.NewPet{Name: fmt.Sprintf("Rex %d 🐕", i), CategoryID: -int64(i)}
		var seen petstore.Response
		made, err := first.CreatePet(ctx, in, petstore.IdempotencyKey(fmt.Sprint("rex-", i)))
		again, failed := second.CreatePet(ctx, in, petstore.IdempotencyKey(fmt.Sprint("rex-", i)), petstore.CaptureResponse(&seen))
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		want := petstore.Pet{ID: made.ID, Name: in.Name, CategoryID: in.CategoryID, Status: petstore.PetAvailable}
		if diff := cmp.Diff([]petstore.Pet{want, want}, []petstore.Pet{*made, *again}); diff != "" || !seen.Replayed || seen.Status != http.StatusCreated {
			t.Errorf("created, and created again, %+v (-want +got):\n%s", seen, diff)
		}
		pets = append(pets, want)
	}
	pets[4] = petstore.Pet{ID: pets[4].ID, Name: name, CategoryID: category, Status: status}
	changed, err := second.UpdatePet(ctx, pets[4].ID, petstore.PetPatch{Name: &name, CategoryID: &category, Status: &status})
	got, failed := first.GetPet(ctx, pets[4].ID) //nolint:staticcheck // It is deprecated, and served until its sunset.
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]petstore.Pet{pets[4], pets[4]}, []petstore.Pet{*changed, *got}); diff != "" {
		t.Errorf("changed, and got (-want +got):\n%s", diff)
	}
	for status, want := range map[petstore.PetStatus][]petstore.Pet{"": pets, petstore.PetPending: pets[4:], petstore.PetSold: nil} {
		if diff := cmp.Diff(want, collect(t, second.Pets(ctx, petstore.ListPetsParams{Limit: 2, Status: status}))); diff != "" {
			t.Errorf("status %q (-want +got):\n%s", status, diff)
		}
	}
	page, err := first.ListPets(ctx, petstore.ListPetsParams{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	same, err := second.ListPets(ctx, petstore.ListPetsParams{Limit: 2, IfNoneMatch: page.ETag})
	if err != nil || page.NextCursor == "" || !same.NotModified || same.Rate.Limit != perMinute || time.Until(same.Rate.Reset) > time.Minute {
		t.Errorf("a page %+v, and the same %+v, %v", page, same, err)
	}
	return pets
}

// checkOrders places an order, approves, gets and lists it.
func checkOrders(t *testing.T, first, second *petstore.Client, pet int64) {
	t.Helper()
	placed, err := first.PlaceOrder(t.Context(), petstore.NewOrder{PetID: pet})
	if err != nil {
		t.Fatal(err)
	}
	approved := petstore.OrderApproved
	changed, err := second.UpdateOrder(t.Context(), placed.ID, petstore.OrderPatch{Status: &approved})
	got, failed := first.GetOrder(t.Context(), placed.ID)
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	want := petstore.Order{ID: placed.ID, PetID: pet, Quantity: 1, Status: approved, CreatedAt: placed.CreatedAt}
	listed := collect(t, second.Orders(t.Context(), petstore.ListOrdersParams{Limit: 1, Status: approved}))
	if diff := cmp.Diff([]petstore.Order{want, want, want}, append([]petstore.Order{*changed, *got}, listed...)); diff != "" {
		t.Errorf("changed, got and listed (-want +got):\n%s", diff)
	}
}

// collect reads an iterator to its end.
func collect[T any](t testing.TB, items iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for item, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	return all
}
