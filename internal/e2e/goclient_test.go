package e2e_test

import (
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	petstore "petstore.example/client"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// perMinute is the limit of the tenant, which is less than a day's.
const perMinute = 1_000_000

// TestGoClient: every operation of the Go client, on two servers in turn. What the client makes of
// each answer, its own tests hold.
func TestGoClient(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	servers := d.serveAll(2)
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
	if diff := cmp.Diff(
		want,
		*e,
		cmpopts.IgnoreFields(petstore.Error{}, "Message", "RequestID", "DocURL", "Rate"),
	); diff != "" {
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
		again, failed := second.CreatePet(
			ctx,
			in,
			petstore.IdempotencyKey(fmt.Sprint("rex-", i)),
			petstore.CaptureResponse(&seen),
		)
		assert.NoError(t, errors.Join(err, failed))
		want := petstore.Pet{ID: made.ID, Name: in.Name, CategoryID: in.CategoryID, Status: petstore.PetAvailable}
		if diff := cmp.Diff(
			[]petstore.Pet{want, want},
			[]petstore.Pet{*made, *again},
		); diff != "" || !seen.Replayed ||
			seen.Status != http.StatusCreated {
			t.Errorf("created, and created again, %+v (-want +got):\n%s", seen, diff)
		}
		pets = append(pets, want)
	}
	pets[4] = petstore.Pet{ID: pets[4].ID, Name: name, CategoryID: category, Status: status}
	changed, err := second.UpdatePet(
		ctx,
		pets[4].ID,
		petstore.PetPatch{Name: &name, CategoryID: &category, Status: &status},
	)
	got, failed := first.GetPet(ctx, pets[4].ID) //nolint:staticcheck // It is deprecated, and served until its sunset.
	assert.NoError(t, errors.Join(err, failed))
	assert.DeepEqual(t, []petstore.Pet{*changed, *got}, []petstore.Pet{pets[4], pets[4]}, "changed, and got")
	for status, want := range map[petstore.PetStatus][]petstore.Pet{"": pets, petstore.PetPending: pets[4:],
		petstore.PetSold: nil} {
		if diff := cmp.Diff(
			want,
			collect(t, second.Pets(ctx, petstore.ListPetsParams{Limit: 2, Status: status})),
		); diff != "" {
			t.Errorf("status %q (-want +got):\n%s", status, diff)
		}
	}
	page, err := first.ListPets(ctx, petstore.ListPetsParams{Limit: 2})
	assert.NoError(t, err)
	same, err := second.ListPets(ctx, petstore.ListPetsParams{Limit: 2, IfNoneMatch: page.ETag})
	if err != nil || page.NextCursor == "" || !same.NotModified || same.Rate.Limit != perMinute ||
		time.Until(same.Rate.Reset) > time.Minute {
		t.Errorf("a page %+v, and the same %+v, %v", page, same, err)
	}
	return pets
}

// checkOrders places an order, approves, gets and lists it.
func checkOrders(t *testing.T, first, second *petstore.Client, pet int64) {
	t.Helper()
	placed, err := first.PlaceOrder(t.Context(), petstore.NewOrder{PetID: pet})
	assert.NoError(t, err)
	approved := petstore.OrderApproved
	changed, err := second.UpdateOrder(t.Context(), placed.ID, petstore.OrderPatch{Status: &approved})
	got, failed := first.GetOrder(t.Context(), placed.ID)
	assert.NoError(t, errors.Join(err, failed))
	want := petstore.Order{ID: placed.ID, PetID: pet, Quantity: 1, Status: approved, CreatedAt: placed.CreatedAt}
	listed := collect(t, second.Orders(t.Context(), petstore.ListOrdersParams{Limit: 1, Status: approved}))
	if diff := cmp.Diff(
		[]petstore.Order{want, want, want},
		append([]petstore.Order{*changed, *got}, listed...),
	); diff != "" {
		t.Errorf("changed, got and listed (-want +got):\n%s", diff)
	}
}

// collect reads an iterator to its end.
func collect[T any](t testing.TB, items iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for item, err := range items {
		assert.NoError(t, err)
		all = append(all, item)
	}
	return all
}

// counting counts responses with status 429 by X-RateLimit-Reset.
type counting struct {
	base http.RoundTripper

	mu      sync.Mutex
	refused map[string]int
}

// RoundTrip is http.RoundTripper's.
func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.base.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusTooManyRequests {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refused[res.Header.Get("X-RateLimit-Reset")]++
	}
	return res, err
}

// TestGoClientWaits: many goroutines that share a client exceed the limit of Free, and all of them
// succeed. They are refused once a minute at most. Ten programs beside each other are refused few
// times, and not banned.
func TestGoClientWaits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ programs, callers, soak, most int }{
		"one program": {1, 80, 300, 1}, "ten programs": {10, 8, 30, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if long() {
				test.callers = test.soak
			}
			d := newDeployment(t, true)
			servers := d.serveAll(2, patientRedis)
			d.avoidMidnight()
			tn := d.tenantEnding(time.Now().Add(6*time.Second), plans.Free, nil, 1)
			transport := &counting{base: d.client.checked(), refused: map[string]int{}}
			var stores []*petstore.Client
			for i := range test.programs {
				stores = append(stores, d.store(servers[i%2], tn.keys[0].token, through(transport)))
			}
			began := time.Now()
			responses := sendAtOnce(test.programs*test.callers, func(i int) response {
				_, err := stores[i%len(stores)].CreatePet(
					t.Context(),
					petstore.NewPet{Name: fmt.Sprintf("Rex %d", i), CategoryID: 1},
				)
				var e *petstore.Error
				if errors.As(err, &e) {
					return response{status: e.Status, code: string(e.Code)}
				}
				return response{status: http.StatusCreated, err: err}
			})
			t.Logf(
				"%v in %v, 429s by window: %v",
				countByCode(responses),
				time.Since(began).Round(time.Millisecond),
				transport.refused,
			)
			assert.DeepEqual(t, countByCode(responses), map[string]int{"201": len(responses)}, "responses")
			for reset, n := range transport.refused {
				if n > test.most {
					t.Errorf("%d × 429 in the window that ends at %s, want at most %d", n, reset, test.most)
				}
			}
			if n := d.number(`select count(*) from pets where tenant_id = $1`, tn.ID); n != int64(len(responses)) {
				t.Errorf("%d animals, want %d", n, len(responses))
			}
			assert.Equal(t, d.number(`select count(*) from bans`), 0, "bans")
		})
	}
}
