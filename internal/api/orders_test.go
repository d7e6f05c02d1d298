package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"petstore.example/internal/catalog"
	"petstore.example/internal/test/assert"
)

// step is a request of acme's and its answer.
type step struct {
	method, target, body string
	status               int
	answer               string
}

func (w *fixture) walk(t *testing.T, steps []step) {
	t.Helper()
	for _, s := range steps {
		r := w.request(s.method, s.target, s.body)
		rec := w.do(r)
		checkAnswer(t, r, rec)
		if rec.Code != s.status || strings.TrimSuffix(rec.Body.String(), "\n") != s.answer {
			t.Errorf("%s %s %s: %d %s, want %d %s", s.method, s.target, s.body, rec.Code, rec.Body, s.status, s.answer)
		}
	}
}

// order is an order of the tests as it is answered.
func order(id, pet, quantity int, status string) string {
	return fmt.Sprintf(
		`{"id":%d,"petId":%d,"quantity":%d,"status":"%s","createdAt":"2026-11-20T09:21:48Z"}`,
		id,
		pet,
		quantity,
		status,
	)
}

// failure is an error's body.
func failure(status int, code, message string) string {
	return fmt.Sprintf(`{"code":"%s","message":"%s","status":%d}`, code, message, status)
}

// TestOrders takes two orders from their placing to their ends.
func TestOrders(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.addPet(t, catalog.Available)
	pet := func(status catalog.Status) step {
		body, err := json.Marshal(
			catalog.Pet{ID: 1, NewPet: catalog.NewPet{Name: "Rex", CategoryID: 7, Status: status}},
		)
		assert.NoError(t, err)
		return step{"GET", "/v1/pets/1", "", 200, string(body)}
	}
	taken := failure(
		409,
		"pet_not_available",
		"The animal is pending or sold and cannot be ordered. Order one whose status is available.",
	)
	w.walk(t, []step{
		{"GET", "/v1/store/orders", "", 200, "[]"},
		{"POST", "/v1/store/orders", `{"petId":1}`, 201, order(1, 1, 1, "placed")},
		pet("pending"),
		{"POST", "/v1/store/orders", `{"petId":1}`, 409, taken},
		{"PATCH", "/v1/store/orders/1", `{"status":"placed"}`, 200, order(1, 1, 1, "placed")},
		{
			"PATCH",
			"/v1/store/orders/1",
			`{"status":"delivered"}`,
			409,
			failure(
				409,
				"invalid_transition",
				"An order that is placed cannot become delivered, only approved or cancelled.",
			),
		},
		{"PATCH", "/v1/store/orders/1", `{"status":"cancelled"}`, 200, order(1, 1, 1, "cancelled")},
		pet("available"),
		{
			"PATCH",
			"/v1/store/orders/1",
			`{"status":"approved"}`,
			409,
			failure(
				409,
				"invalid_transition",
				"An order that is cancelled cannot become approved, because cancelled is final.",
			),
		},
		{
			"POST",
			"/v1/store/orders",
			`{"petId":1,"quantity":2147483647,"id":9,"status":"delivered"}`,
			201,
			order(2, 1, 2147483647, "placed"),
		},
		{"PATCH", "/v1/store/orders/2", `{"status":"approved","quantity":5}`, 200, order(2, 1, 2147483647, "approved")},
		pet("pending"),
		{"PATCH", "/v1/store/orders/2", `{"status":"delivered"}`, 200, order(2, 1, 2147483647, "delivered")},
		pet("sold"),
		{"POST", "/v1/store/orders", `{"petId":1}`, 409, taken},
		{
			"GET",
			"/v1/store/orders",
			"",
			200,
			"[" + order(1, 1, 1, "cancelled") + "," + order(2, 1, 2147483647, "delivered") + "]",
		},
		{"GET", "/v1/store/orders?status=delivered", "", 200, "[" + order(2, 1, 2147483647, "delivered") + "]"},
		{"GET", "/v1/store/orders?status=placed", "", 200, "[]"},
		{"HEAD", "/v1/store/orders", "", 200, ""},
		{
			"PATCH",
			"/v1/store/orders/3",
			`{"status":"approved"}`,
			404,
			failure(404, "order_not_found", "No order with this ID exists in your account."),
		},
		{
			"POST",
			"/v1/store/orders",
			`{"petId":2}`,
			404,
			failure(404, "pet_not_found", "No animal with this ID exists in your catalogue."),
		},
	})
}

// TestOrderPages follows the links of the list of orders.
func TestOrderPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i := range 5 {
		w.addOrder(t, int32(i+1))
	}
	for _, c := range []struct{ query, body, next string }{
		{"?limit=2", order(1, 1, 1, "placed") + "," + order(2, 2, 2, "placed"), "0000000000000002"},
		{"?cursor=0000000000000002&limit=2", order(3, 3, 3, "placed") + "," + order(4, 4, 4, "placed"),
			"0000000000000004"},
		{"?cursor=0000000000000004&limit=2", order(5, 5, 5, "placed"), ""},
	} {
		rec := w.do(w.request("GET", "/v1/store/orders"+c.query, ""))
		link := "<" + baseURL + `/store/orders?limit=2>; rel="first"`
		if c.next != "" {
			link = "<" + baseURL + "/store/orders?cursor=" + c.next + `&limit=2>; rel="next", ` + link
		}
		if rec.Body.String() != "["+c.body+"]\n" || header(rec, "X-Next-Cursor") != c.next ||
			header(rec, "Link") != link {
			t.Errorf("%s: %s %v", c.query, rec.Body, rec.Result().Header)
		}
	}
}
