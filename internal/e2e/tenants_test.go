package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/webhooks"
)

type pet struct {
	ID         int64
	Name       string
	CategoryID int64
	Status     string
}

// populated is a tenant with animals, an order for one of them, and a request that failed.
type populated struct {
	*tenant
	pets   []int64
	placed int64
	// hook is the ID of a webhook, and ping that of a delivery to it.
	hook, ping int64
	failed     string
}

// operation is an operationId of the OpenAPI document. TestTenantsNeverMeet must call all of them.
type operation string

// TestTenantsNeverMeet: in every operation a tenant gets its own data and nothing of another
// tenant's.
func TestTenantsNeverMeet(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve("PETSTORE_SECRETS_KEY=" + webhooks.NewKey())
	populateds := make([]*populated, 3)
	for i := range populateds {
		populateds[i] = addPopulated(d, s, i)
	}
	called := map[operation]int{}
	for i, me := range populateds {
		checkLists(d, s, me, i, called)
		checkUsage(d, s, me, i, called)
		checkOwnKeys(d, s, me, called)
		checkRequests(d, s, me, called)
		checkWebhooks(d, s, me, called)
		for k, other := range populateds {
			if k != i {
				checkOtherTenant(d, s, me, other, called)
			}
		}
	}
	document, err := document()
	assert.NoError(t, err)
	for _, o := range document.Operations {
		if !o.Open && called[operation(o.ID)] == 0 {
			t.Errorf("operation %s is not among those shown", o.ID)
		}
	}
	t.Logf("each of 3 tenants asked for its own and for the others': %v", called)
}

const petsEach = 25

// addPopulated creates a tenant with animals and an order. All tenants use the same idempotency
// keys.
func addPopulated(d *deployment, s *server, i int) *populated {
	d.t.Helper()
	n := &populated{tenant: d.tenant(plans.Business, nil, 1)}
	d.scope(n.keys[0], keys.ScopeManage)
	for pet := range petsEach {
		n.pets = append(
			n.pets,
			createFor(d, s, n, "/pets", fmt.Sprintf(`{"name":"%d of tenant %d","categoryId":1}`, pet, i)),
		)
	}
	n.placed = createFor(d, s, n, "/store/orders", fmt.Sprintf(`{"petId":%d}`, n.pets[0]))
	n.hook = createFor(d, s, n, "/webhooks", `{"url":"https://127-0-0-1.invalid/"}`)
	n.failed = d.patient.get(s, n.keys[0].token, "/store/orders/0").header.Get("X-Request-Id")
	return n
}

// createFor sends a POST and returns the id of what it created.
func createFor(d *deployment, s *server, n *populated, path, body string) int64 {
	d.t.Helper()
	a := d.patient.do(
		d.t.Context(),
		"POST",
		s.URL+path,
		n.keys[0].token,
		body,
		"Idempotency-Key",
		fmt.Sprint(path, len(n.pets)),
	)
	if a.status != 201 {
		d.t.Fatalf("create: %v", a)
	}
	return idOf(a)
}

// checkLists checks that a tenant's lists contain exactly its own items.
func checkLists(d *deployment, s *server, me *populated, i int, called map[operation]int) {
	d.t.Helper()
	for query, want := range map[string]int{
		"?limit=100": petsEach, "?limit=7": petsEach, "?limit=100&status=available": petsEach - 1,
		"?limit=100&status=pending":          1,
		"?limit=100&cursor=0000000000000000": petsEach,
	} {
		seen := listAll(d, s, me.keys[0].token, "/pets"+query)
		called["listPets"]++
		for _, p := range seen {
			if !slices.Contains(me.pets, p.ID) {
				d.t.Errorf("tenant %d sees %q in %s", i, p.Name, query)
			}
		}
		assert.Equal(d.t, len(seen), want, "tenant", i, "sees animals in", query)
	}
	orders := listAll(d, s, me.keys[0].token, "/store/orders?limit=100")
	called["listOrders"]++
	if len(orders) != 1 || orders[0].ID != me.placed {
		d.t.Errorf("tenant %d sees the orders %v, want its own %d", i, orders, me.placed)
	}
}

// checkUsage checks that a tenant sees its own usage.
func checkUsage(d *deployment, s *server, me *populated, i int, called map[operation]int) {
	d.t.Helper()
	token := me.keys[0].token
	limit := d.patient.get(s, token, "/pets?limit=1").header.Get("RateLimit")
	a := d.patient.get(s, token, "/usage")
	called["getUsage"]++
	var u struct {
		Tenant  string
		Windows struct{ Day struct{ Remaining int64 } }
	}
	if err := json.Unmarshal(a.body, &u); err != nil || a.status != 200 {
		d.t.Fatalf("usage: %v", a)
	}
	if u.Tenant != me.Name || !strings.Contains(limit, fmt.Sprintf(`"day";r=%d;`, u.Windows.Day.Remaining)) {
		d.t.Errorf("tenant %d, %s, whose limits are %s, sees the usage %s", i, me.Name, limit, a.body)
	}
}

// checkOwnKeys checks that a tenant sees and makes its own keys.
func checkOwnKeys(d *deployment, s *server, me *populated, called map[operation]int) {
	d.t.Helper()
	made := d.patient.do(d.t.Context(), "POST", s.URL+"/keys", me.keys[0].token, `{"name":"made"}`)
	called["createKey"]++
	a := d.patient.get(s, me.keys[0].token, "/keys")
	called["listKeys"]++
	var seen []struct{ ID string }
	if err := json.Unmarshal(
		a.body,
		&seen,
	); err != nil || made.status != 201 || len(seen) != 2 ||
		seen[1].ID != me.keys[0].id {
		d.t.Errorf("tenant %s makes %v and sees the keys %v", me.Name, made, a)
	}
}

// checkWebhooks checks that a tenant sees its own webhook alone, and what is sent to it.
func checkWebhooks(d *deployment, s *server, me *populated, called map[operation]int) {
	d.t.Helper()
	var list []struct{ ID int64 }
	a := d.patient.get(s, me.keys[0].token, "/webhooks")
	called["listWebhooks"]++
	if err := json.Unmarshal(a.body, &list); err != nil || len(list) != 1 || list[0].ID != me.hook {
		d.t.Errorf("tenant %s sees the webhooks %v", me.Name, a)
	}
	path := fmt.Sprintf("%s/webhooks/%d", s.URL, me.hook)
	a = d.patient.do(d.t.Context(), "POST", path+"/test", me.keys[0].token, "")
	called["createWebhook"]++
	var sent struct{ ID int64 }
	if err := json.Unmarshal(a.body, &sent); err != nil || a.status != 202 {
		d.t.Fatalf("tenant %s tests its webhook: %v", me.Name, a)
	}
	me.ping = sent.ID
}

// checkRequests checks that a tenant sees its own failed request, and only that one of its order.
func checkRequests(d *deployment, s *server, me *populated, called map[operation]int) {
	d.t.Helper()
	wait.Until(d.t, "the failed request is listed", func() bool {
		a := d.patient.get(s, me.keys[0].token, "/requests?code=order_not_found&limit=100")
		called["listRequests"]++
		var seen []struct{ ID, KeyID string }
		if err := json.Unmarshal(a.body, &seen); err != nil || a.status != 200 {
			d.t.Fatalf("failed requests: %v", a)
		}
		for _, r := range seen {
			assert.Equal(d.t, r.KeyID, me.keys[0].id, "the key of", a)
		}
		return len(seen) > 0 && seen[len(seen)-1].ID == me.failed
	})
}

// checkOtherTenant checks that me cannot see or change the data of another tenant.
func checkOtherTenant(d *deployment, s *server, me, other *populated, called map[operation]int) {
	d.t.Helper()
	token := me.keys[0].token
	pet, order := fmt.Sprintf("/pets/%d", other.pets[1]), fmt.Sprintf("/store/orders/%d", other.placed)
	before := d.patient.get(s, other.keys[0].token, pet)
	key, hook := "/keys/"+other.keys[0].id, fmt.Sprintf("/webhooks/%d", other.hook)
	for _, c := range []struct {
		operation                operation
		method, path, body, code string
	}{
		{"getPet", "GET", pet, "", "pet_not_found"},
		{"getPet", "HEAD", pet, "", ""},
		{"updatePet", "PATCH", pet, `{"name":"mine"}`, "pet_not_found"},
		{"updatePet", "PATCH", pet, `{"status":"sold"}`, "pet_not_found"},
		{"placeOrder", "POST", "/store/orders", fmt.Sprintf(`{"petId":%d}`, other.pets[1]), "pet_not_found"},
		{"getOrder", "GET", order, "", "order_not_found"},
		{"updateOrder", "PATCH", order, `{"status":"cancelled"}`, "order_not_found"},
		{"getRequest", "GET", "/requests/" + other.failed, "", "request_not_found"},
		{"getKey", "GET", key, "", "key_not_found"},
		{"updateKey", "PATCH", key, `{"scope":"read"}`, "key_not_found"},
		{"rotateKey", "POST", key + "/rotate", "", "key_not_found"},
		{"revokeKey", "POST", key + "/revoke", "", "key_not_found"},
		{"getWebhook", "GET", hook, "", "webhook_not_found"},
		{"updateWebhook", "PATCH", hook, `{"status":"disabled"}`, "webhook_not_found"},
		{"deleteWebhook", "DELETE", hook, "", "webhook_not_found"},
		{"rotateWebhookSecret", "POST", hook + "/rotate", "", "webhook_not_found"},
		{"testWebhook", "POST", hook + "/test", "", "webhook_not_found"},
		{"replayWebhook", "POST", hook + "/replay", "", "webhook_not_found"},
		{"listWebhookDeliveries", "GET", hook + "/deliveries", "", "webhook_not_found"},
		{
			"retryWebhookDelivery", "POST", fmt.Sprintf("%s/deliveries/%d/retry", hook, other.ping), "",
			"webhook_not_found",
		},
	} {
		called[c.operation]++
		a := d.patient.do(d.t.Context(), c.method, s.URL+c.path, token, c.body)
		if a.status != 404 || a.code != c.code || strings.Contains(string(a.body), "of tenant") {
			d.t.Errorf("%s %s of another tenant: %v, want 404 %s", c.method, c.path, a, c.code)
		}
	}
	a := d.patient.get(s, token, fmt.Sprintf("/pets/%d", me.pets[1]))
	assert.Equal(d.t, a.status, 200, "its own animal", a)
	after := d.patient.get(s, other.keys[0].token, pet)
	if after.status != 200 || string(after.body) != string(before.body) {
		d.t.Errorf("another tenant's animal was %s and is %s", before.body, after.body)
	}
	called["createPet"]++
}

// listAll follows the cursors to the last page.
func listAll(d *deployment, s *server, token, path string) (all []pet) {
	d.t.Helper()
	for next := path; next != ""; {
		a := d.patient.get(s, token, next)
		var page []pet
		if err := json.Unmarshal(a.body, &page); err != nil || a.status != 200 {
			d.t.Fatalf("list: %v", a)
		}
		all = append(all, page...)
		next = ""
		if cursor := a.header.Get("X-Next-Cursor"); cursor != "" {
			bare, _, _ := strings.Cut(path, "&cursor=")
			next = bare + "&cursor=" + cursor
		}
	}
	return all
}
