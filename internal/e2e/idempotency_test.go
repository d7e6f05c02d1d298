package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"petstore.example/internal/plans"
)

// idempotentPost is a POST with an Idempotency-Key.
type idempotentPost struct{ path, body, key string }

func (c *client) idempotentPost(ctx context.Context, s *server, token string, k idempotentPost) response {
	return c.do(ctx, http.MethodPost, s.url+k.path, token, k.body, "Idempotency-Key", k.key)
}

func replayed(a response) bool { return a.header.Get("Idempotent-Replayed") == "true" }

// idOf returns the id in a response's body, or 0.
func idOf(a response) int64 {
	var b struct{ ID int64 }
	_ = json.Unmarshal(a.body, &b)
	return b.ID
}

// TestIdempotencyKey: of 50 identical concurrent requests to two servers, one takes effect. The others get its response, or 409 and then
// its response on retry.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	servers := []*server{d.serve(), d.serve()}
	t.Run("animals", func(t *testing.T) {
		t.Parallel()
		d := d.in(t)
		tn := d.tenant(plans.Enterprise, hugeQuota, 1)
		for round := range 5 {
			name := fmt.Sprintf("Rex-%d", round)
			checkOneEffect(d, servers, tn, idempotentPost{"/pets", fmt.Sprintf(`{"name":%q,"categoryId":7}`, name), name}, func() int64 {
				return d.number(`select count(*) from pets where tenant_id = $1 and name = $2`, tn.ID, name)
			})
		}
		checkReuse(d, servers, tn, idempotentPost{"/pets", `{"name":"Rex-0","categoryId":8}`, "Rex-0"})
	})
	t.Run("orders", func(t *testing.T) {
		t.Parallel()
		d := d.in(t)
		tn := d.tenant(plans.Enterprise, hugeQuota, 1)
		pets := d.insertPets(tn, 6)
		for round, pet := range pets[:5] {
			checkOneEffect(d, servers, tn, idempotentPost{"/store/orders", fmt.Sprintf(`{"petId":%d,"quantity":2}`, pet), fmt.Sprintf("order-%d", round)}, func() int64 {
				return d.number(`select count(*) from orders where tenant_id = $1 and pet_id = $2`, tn.ID, pet)
			})
		}
		checkReuse(d, servers, tn, idempotentPost{"/store/orders", fmt.Sprintf(`{"petId":%d}`, pets[5]), "order-0"})
	})
	t.Run("scope", func(t *testing.T) {
		t.Parallel()
		checkScope(d.in(t), servers)
	})
}

// checkOneEffect sends k 50 times at once. rows returns how often it took effect.
func checkOneEffect(d *deployment, servers []*server, tn *tenant, k idempotentPost, rows func() int64) {
	d.t.Helper()
	const requests = 50
	token := tn.keys[0].token
	responses := sendAtOnce(requests, func(i int) response { return d.client.idempotentPost(d.t.Context(), servers[i%2], token, k) })
	var first response
	firsts, replays, again := 0, 0, 0
	for _, a := range responses {
		switch {
		case a.status == http.StatusCreated && !replayed(a):
			first = a
			firsts++
		case a.status == http.StatusCreated:
			replays++
		case a.status == http.StatusConflict && a.code == "idempotency_in_progress" && a.header.Get("Retry-After") == "1":
			again++
		default:
			d.t.Errorf("%s: %v, want 201, or 409 idempotency_in_progress with Retry-After: 1", k.path, a)
		}
	}
	d.t.Logf("%d × POST %s with one key at once on 2 servers: %d new, %d replays, %d × 409 idempotency_in_progress", requests, k.path, firsts, replays, again)
	if firsts != 1 {
		d.t.Errorf("%d requests were the first, want one", firsts)
	}
	retries := sendAtOnce(again+2, func(i int) response { return d.client.idempotentPost(d.t.Context(), servers[i%2], token, k) })
	for _, a := range retries {
		if !replayed(a) {
			d.t.Errorf("sent again: %v, want a replay", a)
		}
	}
	for _, a := range append(responses, retries...) {
		if a.status == http.StatusCreated {
			expectReplay(d, first, a)
		}
	}
	if n := rows(); n != 1 {
		d.t.Errorf("%d rows, want 1", n)
	}
}

// expectReplay compares a replay with the first response.
func expectReplay(d *deployment, first, a response) {
	d.t.Helper()
	if diff := cmp.Diff(string(first.body), string(a.body)); diff != "" {
		d.t.Errorf("body (-first +replay):\n%s", diff)
	}
	for _, name := range []string{"Location", "Content-Type", "X-Stability"} {
		if got, want := a.header.Get(name), first.header.Get(name); got != want {
			d.t.Errorf("replayed with %s %q, want %q", name, got, want)
		}
	}
}

// checkReuse sends another body with a used idempotency key.
func checkReuse(d *deployment, servers []*server, tn *tenant, other idempotentPost) {
	d.t.Helper()
	for _, s := range servers {
		if a := d.client.idempotentPost(d.t.Context(), s, tn.keys[0].token, other); a.status != http.StatusUnprocessableEntity || a.code != "idempotency_key_reused" {
			d.t.Errorf("another body with the same key: %v, want 422 idempotency_key_reused", a)
		}
	}
}

// checkScope: an idempotency key belongs to a tenant, method and path, and a rejected request does not use it up.
func checkScope(d *deployment, servers []*server) {
	d.t.Helper()
	tn, other := d.tenant(plans.Enterprise, hugeQuota, 2), d.tenant(plans.Enterprise, hugeQuota, 1)
	animal := idempotentPost{"/pets", `{"name":"Rex","categoryId":7}`, "everywhere"}
	expectNew := func(what string, a response) {
		d.t.Helper()
		if a.status != http.StatusCreated || replayed(a) {
			d.t.Errorf("%s: %v, want 201 and no replay", what, a)
		}
	}
	if a := d.client.idempotentPost(d.t.Context(), servers[0], tn.keys[0].token, idempotentPost{"/pets", `{"name":""}`, "everywhere"}); a.status != http.StatusBadRequest {
		d.t.Errorf("an invalid body: %v", a)
	}
	first := d.client.idempotentPost(d.t.Context(), servers[0], tn.keys[0].token, animal)
	expectNew("corrected after a refusal", first)
	expectNew("the same key of another tenant", d.client.idempotentPost(d.t.Context(), servers[1], other.keys[0].token, animal))
	order := idempotentPost{"/store/orders", fmt.Sprintf(`{"petId":%d}`, idOf(first)), "everywhere"}
	expectNew("the same key for an order", d.client.idempotentPost(d.t.Context(), servers[1], tn.keys[0].token, order))
	for i := range 2 {
		a := d.patient.do(d.t.Context(), http.MethodPatch, servers[i].url+fmt.Sprintf("/pets/%d", idOf(first)), tn.keys[0].token,
			fmt.Sprintf(`{"categoryId":%d}`, i), "Idempotency-Key", "everywhere")
		if a.status != http.StatusOK || replayed(a) {
			d.t.Errorf("the same key with PATCH: %v, want 200 each time", a)
		}
	}
	// The quoted form is the same key, and it belongs to the tenant, not to one of its API keys.
	animal.key = `"everywhere"`
	if a := d.client.idempotentPost(d.t.Context(), servers[1], tn.keys[1].token, animal); !replayed(a) {
		d.t.Errorf("the same request with the tenant's other API key: %v, want a replay", a)
	} else {
		expectReplay(d, first, a)
	}
	if n := d.number(`select count(*) from pets where tenant_id = any(array[$1::bigint, $2::bigint])`, tn.ID, other.ID); n != 2 {
		d.t.Errorf("%d animals, want one of each tenant", n)
	}
}

// insertPets inserts available animals as the database's owner and returns their ids.
func (d *deployment) insertPets(tn *tenant, n int) (ids []int64) {
	d.t.Helper()
	d.scan(pq.Array(&ids), `
		with added as (
			insert into pets (tenant_id, name, category_id, status, created_at)
			select $1, 'animal ' || n, n, 'available', now() from generate_series(1, $2) n returning id
		) select array_agg(id order by id) from added`, tn.ID, n)
	return ids
}
