package e2e_test

import (
	"context"
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
)

// TestGoClient: every operation of the Go client, on two servers in turn.
func TestGoClient(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	servers := []*server{d.serve(), d.serve()}
	tn := d.tenant(plans.Enterprise, &plans.Quota{PerMinute: 1_000_000, PerDay: 10_000_000}, 1)
	stores := goClients(d, servers, tn.keys[0].token, petstore.WithUserAgent("e2e/1"))
	pets := checkPets(d, stores)
	checkPages(d, stores[1], pets)
	checkOrders(d, stores, pets)
	checkETag(d, stores, pets[0])
	checkReplay(d, stores)
	checkErrors(d, servers[0], tn, pets[0])
}

// checkPets creates, updates and gets animals, and returns them.
func checkPets(d *deployment, stores []*petstore.Client) []petstore.Pet {
	d.t.Helper()
	ctx := d.t.Context()
	var pets []petstore.Pet
	for i := range 10 {
		in := petstore.NewPet{Name: fmt.Sprintf("Rex %d 🐕", i), CategoryID: -int64(i)}
		want := petstore.Pet{Name: in.Name, CategoryID: in.CategoryID, Status: petstore.PetAvailable}
		made, err := stores[i%2].CreatePet(ctx, in)
		if err != nil {
			d.t.Fatal(err)
		}
		if diff := cmp.Diff(want, *made, cmpopts.IgnoreFields(petstore.Pet{}, "ID")); diff != "" {
			d.t.Errorf("created (-want +got):\n%s", diff)
		}
		name, category, status := fmt.Sprintf("Max %d", i), int64(i), petstore.PetPending
		want = petstore.Pet{ID: made.ID, Name: name, CategoryID: category, Status: status}
		changed, err := stores[(i+1)%2].UpdatePet(ctx, made.ID, petstore.PetPatch{Name: &name, CategoryID: &category, Status: &status})
		if err != nil {
			d.t.Fatal(err)
		}
		got, err := getPet(ctx, stores[i%2], made.ID)
		if err != nil {
			d.t.Fatal(err)
		}
		if diff := cmp.Diff([]petstore.Pet{want, want}, []petstore.Pet{*changed, *got}); diff != "" {
			d.t.Errorf("changed, and got (-want +got):\n%s", diff)
		}
		pets = append(pets, want)
	}
	return pets
}

// getPet calls a deprecated operation, which is served until its sunset.
func getPet(ctx context.Context, store *petstore.Client, id int64) (*petstore.Pet, error) {
	return store.GetPet(ctx, id) //nolint:staticcheck // Others should not call it.
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

// checkPages lists the animals with different page sizes, and by status.
func checkPages(d *deployment, store *petstore.Client, pets []petstore.Pet) {
	d.t.Helper()
	for _, limit := range []int{0, 1, 3, len(pets) - 1, len(pets), len(pets) + 1} {
		for status, want := range map[petstore.PetStatus][]petstore.Pet{"": pets, petstore.PetPending: pets, petstore.PetSold: nil} {
			got := collect(d.t, store.Pets(d.t.Context(), petstore.ListPetsParams{Limit: limit, Status: status}))
			if diff := cmp.Diff(want, got); diff != "" {
				d.t.Errorf("limit %d, status %q (-want +got):\n%s", limit, status, diff)
			}
		}
	}
	var seen petstore.Response
	page, err := store.ListPets(d.t.Context(), petstore.ListPetsParams{Limit: 4}, petstore.CaptureResponse(&seen))
	if err != nil {
		d.t.Fatal(err)
	}
	if seen.Status != http.StatusOK || seen.RequestID == "" || seen.Rate != page.Rate || seen.Replayed ||
		page.Rate.Limit != 1_000_000 || page.Rate.Remaining <= 0 || time.Until(page.Rate.Reset) > time.Minute {
		d.t.Errorf("page %+v of %+v", page, seen)
	}
	rest := collect(d.t, store.Pets(d.t.Context(), petstore.ListPetsParams{Cursor: page.NextCursor, Limit: 2}))
	if diff := cmp.Diff(pets, append(page.Pets, rest...)); diff != "" {
		d.t.Errorf("a page and the rest (-want +got):\n%s", diff)
	}
}

// checkOrders makes animals available, places orders for them, and lists the orders.
func checkOrders(d *deployment, stores []*petstore.Client, pets []petstore.Pet) {
	d.t.Helper()
	ctx := d.t.Context()
	available, approved := petstore.PetAvailable, petstore.OrderApproved
	var orders, placed []petstore.Order
	for i, p := range pets[:5] {
		if _, err := stores[0].UpdatePet(ctx, p.ID, petstore.PetPatch{Status: &available}); err != nil {
			d.t.Fatal(err)
		}
		o, err := stores[1].PlaceOrder(ctx, petstore.NewOrder{PetID: p.ID})
		if err != nil {
			d.t.Fatal(err)
		}
		if off := time.Since(o.CreatedAt); off < -time.Minute || off > time.Minute {
			d.t.Errorf("an order of now was placed at %v", o.CreatedAt)
		}
		want := petstore.Order{PetID: p.ID, Quantity: 1, Status: petstore.OrderPlaced}
		if diff := cmp.Diff(want, *o, cmpopts.IgnoreFields(petstore.Order{}, "ID", "CreatedAt")); diff != "" {
			d.t.Errorf("placed (-want +got):\n%s", diff)
		}
		if i%2 == 0 {
			if o, err = stores[0].UpdateOrder(ctx, o.ID, petstore.OrderPatch{Status: &approved}); err != nil {
				d.t.Fatal(err)
			}
		} else {
			placed = append(placed, *o)
		}
		orders = append(orders, *o)
	}
	for _, limit := range []int{0, 1, 2, 5} {
		for status, want := range map[petstore.OrderStatus][]petstore.Order{"": orders, petstore.OrderPlaced: placed, petstore.OrderDelivered: nil} {
			got := collect(d.t, stores[limit%2].Orders(ctx, petstore.ListOrdersParams{Limit: limit, Status: status}))
			if diff := cmp.Diff(want, got); diff != "" {
				d.t.Errorf("orders, limit %d, status %q (-want +got):\n%s", limit, status, diff)
			}
		}
	}
}

// checkETag requests an unchanged page from the other server, and then a changed one.
func checkETag(d *deployment, stores []*petstore.Client, pet petstore.Pet) {
	d.t.Helper()
	params := petstore.ListPetsParams{Limit: 3}
	page, err := stores[0].ListPets(d.t.Context(), params)
	if err != nil || page.ETag == "" || page.NotModified || len(page.Pets) != 3 {
		d.t.Fatalf("%+v, %v", page, err)
	}
	params.IfNoneMatch = page.ETag
	same, err := stores[1].ListPets(d.t.Context(), params)
	if err != nil || !same.NotModified || same.ETag != page.ETag || len(same.Pets) != 0 {
		d.t.Errorf("unchanged: %+v, %v", same, err)
	}
	name := pet.Name + ", renamed"
	if _, err := stores[0].UpdatePet(d.t.Context(), pet.ID, petstore.PetPatch{Name: &name}); err != nil {
		d.t.Fatal(err)
	}
	changed, err := stores[1].ListPets(d.t.Context(), params)
	if err != nil || changed.NotModified || changed.ETag == page.ETag || len(changed.Pets) != 3 || changed.Pets[0].Name != name {
		d.t.Errorf("changed: %+v, %v", changed, err)
	}
}

// checkReplay sends a request twice with one idempotency key.
func checkReplay(d *deployment, stores []*petstore.Client) {
	d.t.Helper()
	in := petstore.NewPet{Name: "Once", CategoryID: 1}
	var made []*petstore.Pet
	for i, replayed := range []bool{false, true} {
		var seen petstore.Response
		p, err := stores[i].CreatePet(d.t.Context(), in, petstore.IdempotencyKey("once"), petstore.CaptureResponse(&seen))
		if err != nil || seen.Replayed != replayed || seen.Status != http.StatusCreated {
			d.t.Errorf("call %d: %+v, %v", i, seen, err)
		}
		made = append(made, p)
	}
	if diff := cmp.Diff(made[0], made[1]); diff != "" {
		d.t.Errorf("(-first +second):\n%s", diff)
	}
	in.CategoryID++
	if _, err := stores[0].CreatePet(d.t.Context(), in, petstore.IdempotencyKey("once")); !errors.Is(err, petstore.CodeIdempotencyKeyReused) {
		d.t.Errorf("another animal with the same key: %v", err)
	}
}

// checkErrors checks the errors of requests that the client does not reject itself.
func checkErrors(d *deployment, s *server, tn *tenant, pet petstore.Pet) {
	d.t.Helper()
	ctx, token := d.t.Context(), tn.keys[0].token
	store, stranger := d.store(s, token), d.store(s, "pst_live_none")
	astray := d.storeAt(s.url+"/nowhere/v1", token)
	const none = int64(1) << 62
	sold, placed := petstore.PetSold, petstore.OrderPlaced
	for _, tt := range []struct {
		name string
		call func() error
		want petstore.Error // without message, request ID and rate
	}{
		{"an unknown key", func() error { _, err := stranger.ListPets(ctx, petstore.ListPetsParams{}); return err },
			petstore.Error{Method: "GET", Path: "/v1/pets", Status: 401, Code: petstore.CodeInvalidAPIKey}},
		{"an animal that does not exist", func() error { _, err := getPet(ctx, store, none); return err },
			petstore.Error{Method: "GET", Path: fmt.Sprintf("/v1/pets/%d", none), Status: 404, Code: petstore.CodePetNotFound}},
		{"no name", func() error { _, err := store.CreatePet(ctx, petstore.NewPet{}); return err },
			petstore.Error{Method: "POST", Path: "/v1/pets", Status: 400, Code: petstore.CodeValidationFailed}},
		{"limit 101", func() error { _, err := store.ListPets(ctx, petstore.ListPetsParams{Limit: 101}); return err },
			petstore.Error{Method: "GET", Path: "/v1/pets", Status: 400, Code: petstore.CodeInvalidParameter}},
		{"cursor zz", func() error { _, err := store.ListOrders(ctx, petstore.ListOrdersParams{Cursor: "zz"}); return err },
			petstore.Error{Method: "GET", Path: "/v1/store/orders", Status: 400, Code: petstore.CodeInvalidCursor}},
		{"no such animal", func() error { _, err := store.UpdatePet(ctx, none, petstore.PetPatch{Status: &sold}); return err },
			petstore.Error{Method: "PATCH", Path: fmt.Sprintf("/v1/pets/%d", none), Status: 404, Code: petstore.CodePetNotFound}},
		{"no such order", func() error { _, err := store.UpdateOrder(ctx, none, petstore.OrderPatch{Status: &placed}); return err },
			petstore.Error{Method: "PATCH", Path: fmt.Sprintf("/v1/store/orders/%d", none), Status: 404, Code: petstore.CodeOrderNotFound}},
		{"no such path", func() error { _, err := astray.ListPets(ctx, petstore.ListPetsParams{}); return err },
			petstore.Error{Method: "GET", Path: "/v1/nowhere/v1/pets", Status: 404, Code: petstore.CodeRouteNotFound}},
		{"an animal that is held", func() error { _, err := store.PlaceOrder(ctx, petstore.NewOrder{PetID: pet.ID}); return err },
			petstore.Error{Method: "POST", Path: "/v1/store/orders", Status: 409, Code: petstore.CodePetNotAvailable}},
		{"a step that an order forbids", func() error { _, err := store.UpdatePet(ctx, pet.ID, petstore.PetPatch{Status: &sold}); return err },
			petstore.Error{Method: "PATCH", Path: fmt.Sprintf("/v1/pets/%d", pet.ID), Status: 409, Code: petstore.CodeInvalidTransition}},
	} {
		var e *petstore.Error
		err := tt.call()
		if !errors.As(err, &e) || !errors.Is(err, tt.want.Code) {
			d.t.Errorf("%s: %v, want %s", tt.name, err, tt.want.Code)
			continue
		}
		if diff := cmp.Diff(tt.want, *e, cmpopts.IgnoreFields(petstore.Error{}, "Message", "RequestID", "Rate")); diff != "" {
			d.t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if e.Message == "" || e.RequestID == "" || e.Rate.Limit == 0 {
			d.t.Errorf("%s: %+v lacks something", tt.name, e)
		}
	}
}

// counting counts responses with status 429 by X-RateLimit-Reset. If lose is set, it loses the first response to each idempotency key.
type counting struct {
	base http.RoundTripper
	lose bool

	mu      sync.Mutex
	refused map[string]int
	lost    map[string]bool // by Idempotency-Key
}

var errLost = errors.New("the connection was lost")

// RoundTrip is http.RoundTripper's.
func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	key := r.Header.Get("Idempotency-Key")
	c.mu.Lock()
	defer c.mu.Unlock()
	if res.StatusCode == http.StatusTooManyRequests {
		c.refused[res.Header.Get("X-RateLimit-Reset")]++
	}
	// A refusal is not lost: the next attempt is the first one that does something.
	if c.lose && key != "" && res.StatusCode == http.StatusCreated && !c.lost[key] {
		c.lost[key] = true
		_ = res.Body.Close()
		return nil, errLost
	}
	return res, nil
}

// TestGoClientWaits: many goroutines that share a client exceed the limit of Free, and all of them succeed. They are refused once a minute at
// most. Ten programs beside each other are refused few times, and not banned.
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
			servers := []*server{d.serve("PETSTORE_REDIS_TIMEOUT=5s"), d.serve("PETSTORE_REDIS_TIMEOUT=5s")}
			tn := d.tenantWithin(servers[0], plans.Free, nil, 1, 5*time.Second, 15*time.Second)
			transport := &counting{base: d.client.checked(), refused: map[string]int{}}
			var stores []*petstore.Client
			for i := range test.programs {
				stores = append(stores, d.store(servers[i%2], tn.keys[0].token, through(transport)))
			}
			began := time.Now()
			responses := sendAtOnce(test.programs*test.callers, func(i int) response {
				_, err := stores[i%len(stores)].CreatePet(t.Context(), petstore.NewPet{Name: fmt.Sprintf("Rex %d", i), CategoryID: 1})
				return responseOf(err)
			})
			t.Logf("%v in %v, 429s by window: %v", countByCode(responses), time.Since(began).Round(time.Millisecond), transport.refused)
			if diff := cmp.Diff(map[string]int{"201": len(responses)}, countByCode(responses)); diff != "" {
				t.Errorf("responses (-want +got):\n%s", diff)
			}
			for reset, n := range transport.refused {
				if n > test.most {
					t.Errorf("%d × 429 in the window that ends at %s, want at most %d", n, reset, test.most)
				}
			}
			if n := d.number(`select count(*) from pets where tenant_id = $1`, tn.ID); n != int64(len(responses)) {
				t.Errorf("%d animals, want %d", n, len(responses))
			}
			if n := d.number(`select count(*) from bans`); n != 0 {
				t.Errorf("%d bans", n)
			}
		})
	}
}

// TestGoClientDoesNotWaitLong: the client returns a 429 at once if Retry-After exceeds its maximum wait.
func TestGoClientDoesNotWaitLong(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve()
	d.avoidMidnight()
	for _, tt := range []struct {
		own  plans.Quota
		code petstore.Code
		opts []petstore.Option
		most time.Duration
	}{
		{plans.Quota{PerMinute: 3, PerDay: 1000}, petstore.CodeRateLimitExceeded, []petstore.Option{petstore.WithMaxRetries(0)}, time.Minute},
		{plans.Quota{PerMinute: 3, PerDay: 1000}, petstore.CodeRateLimitExceeded, []petstore.Option{petstore.WithMaxWait(time.Second)}, time.Minute},
		{plans.Quota{PerMinute: 3, PerDay: 3}, petstore.CodeDailyQuotaExceeded, nil, 24 * time.Hour},
	} {
		tn := d.freshTenant(s, plans.Enterprise, &tt.own, 1)
		store := d.store(s, tn.keys[0].token, tt.opts...)
		for range tt.own.PerMinute - tn.used {
			if _, err := store.ListPets(t.Context(), petstore.ListPetsParams{}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := store.ListPets(t.Context(), petstore.ListPetsParams{})
		var e *petstore.Error
		if !errors.As(err, &e) || e.Code != tt.code {
			t.Errorf("%v, want %s", err, tt.code)
			continue
		}
		if until := time.Until(e.Rate.Reset); e.Rate.Remaining != 0 || e.RetryAfter <= time.Second || e.RetryAfter > tt.most ||
			until > e.RetryAfter || until < e.RetryAfter-20*time.Second {
			t.Errorf("%s: RetryAfter %v, %+v, which is in %v", e.Code, e.RetryAfter, e.Rate, until)
		}
	}
}

// TestGoClientLosesAnswers: if the connection breaks before the response arrives, the client retries, and nothing is done twice.
func TestGoClientLosesAnswers(t *testing.T) {
	t.Parallel()
	const calls = 16
	d := newDeployment(t, false)
	s := d.serve()
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	transport := &counting{base: d.client.checked(), lose: true, refused: map[string]int{}, lost: map[string]bool{}}
	store := d.store(s, tn.keys[0].token, through(transport))
	pets := d.insertPets(tn, calls/2)
	responses := sendAtOnce(calls, func(i int) (a response) {
		var err error
		var seen petstore.Response
		if i%2 == 0 {
			_, err = store.CreatePet(t.Context(), petstore.NewPet{Name: fmt.Sprint(i), CategoryID: 1}, petstore.CaptureResponse(&seen))
		} else {
			_, err = store.PlaceOrder(t.Context(), petstore.NewOrder{PetID: pets[i/2]}, petstore.CaptureResponse(&seen))
		}
		if err == nil && !seen.Replayed {
			t.Errorf("call %d: answered %+v, want a replay", i, seen)
		}
		return responseOf(err)
	})
	animals := d.number(`select count(*) from pets where tenant_id = $1`, tn.ID) - calls/2
	orders := d.number(`select count(*) from orders where tenant_id = $1`, tn.ID)
	t.Logf("%d calls whose first answer was lost: %v, %d animals, %d orders", calls, countByCode(responses), animals, orders)
	if countByCode(responses)["201"] != calls || animals != calls/2 || orders != calls/2 || len(transport.lost) != calls {
		t.Errorf("want %d of each, and %d lost responses, not %d", calls/2, calls, len(transport.lost))
	}
}
