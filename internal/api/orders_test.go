package api

import (
	"fmt"
	"strings"
	"testing"

	"petstore.example/internal/catalog"
)

// step is a request of acme's and its answer.
type step struct {
	method, target, body string
	status               int
	answer               string
}

func (w *world) walk(t *testing.T, steps []step) {
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
	return fmt.Sprintf(`{"id":%d,"petId":%d,"quantity":%d,"status":"%s","createdAt":"2026-11-20T09:21:48Z"}`, id, pet, quantity, status)
}

// failure is an error's body.
func failure(status int, code, message string) string {
	return fmt.Sprintf(`{"code":"%s","message":"%s","status":%d}`, code, message, status)
}

// TestOrders takes two orders from their placing to their ends.
func TestOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addPet(t, catalog.Available)
	pet := func(status string) step {
		return step{"GET", "/v1/pets/1", "", 200, `{"id":1,"name":"Rex","categoryId":7,"status":"` + status + `"}`}
	}
	taken := failure(409, "pet_not_available", "The animal is pending or sold and cannot be ordered. Order one whose status is available.")
	w.walk(t, []step{
		{"GET", "/v1/store/orders", "", 200, "[]"},
		{"POST", "/v1/store/orders", `{"petId":1}`, 201, order(1, 1, 1, "placed")},
		pet("pending"),
		{"POST", "/v1/store/orders", `{"petId":1}`, 409, taken},
		{"PATCH", "/v1/store/orders/1", `{"status":"placed"}`, 200, order(1, 1, 1, "placed")},
		{"PATCH", "/v1/store/orders/1", `{"status":"delivered"}`, 409,
			failure(409, "invalid_transition", "An order that is placed cannot become delivered, only approved or cancelled.")},
		{"PATCH", "/v1/store/orders/1", `{"status":"cancelled"}`, 200, order(1, 1, 1, "cancelled")},
		pet("available"),
		{"PATCH", "/v1/store/orders/1", `{"status":"approved"}`, 409,
			failure(409, "invalid_transition", "An order that is cancelled cannot become approved, because cancelled is final.")},
		{"POST", "/v1/store/orders", `{"petId":1,"quantity":2147483647,"id":9,"status":"delivered"}`, 201, order(2, 1, 2147483647, "placed")},
		{"PATCH", "/v1/store/orders/2", `{"status":"approved","quantity":5}`, 200, order(2, 1, 2147483647, "approved")},
		pet("pending"),
		{"PATCH", "/v1/store/orders/2", `{"status":"delivered"}`, 200, order(2, 1, 2147483647, "delivered")},
		pet("sold"),
		{"POST", "/v1/store/orders", `{"petId":1}`, 409, taken},
		{"GET", "/v1/store/orders", "", 200, "[" + order(1, 1, 1, "cancelled") + "," + order(2, 1, 2147483647, "delivered") + "]"},
		{"GET", "/v1/store/orders?status=delivered", "", 200, "[" + order(2, 1, 2147483647, "delivered") + "]"},
		{"GET", "/v1/store/orders?status=placed", "", 200, "[]"},
		{"HEAD", "/v1/store/orders", "", 200, ""},
		{"PATCH", "/v1/store/orders/3", `{"status":"approved"}`, 404, failure(404, "order_not_found", "No order with this ID exists in your account.")},
		{"POST", "/v1/store/orders", `{"petId":2}`, 404, failure(404, "pet_not_found", "No animal with this ID exists in your catalogue.")},
	})
}

func TestOrderLocation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addPet(t, catalog.Available)
	rec := w.do(w.request("POST", "/v1/store/orders", `{"petId":1}`))
	if got := header(rec, "Location"); got != baseURL+"/store/orders/1" {
		t.Errorf("Location %s", got)
	}
}

// TestOrderPages follows the links of the list of orders.
func TestOrderPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 5 {
		id := w.addPet(t, catalog.Available)
		if _, err := w.orders.PlaceOrder(t.Context(), 1, catalog.NewOrder{PetID: id, Quantity: int32(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ query, body, next string }{
		{"?limit=2", order(1, 1, 1, "placed") + "," + order(2, 2, 2, "placed"), "0000000000000002"},
		{"?cursor=0000000000000002&limit=2", order(3, 3, 3, "placed") + "," + order(4, 4, 4, "placed"), "0000000000000004"},
		{"?cursor=0000000000000004&limit=2", order(5, 5, 5, "placed"), ""},
	} {
		rec := w.do(w.request("GET", "/v1/store/orders"+c.query, ""))
		link := "<" + baseURL + `/store/orders?limit=2>; rel="first"`
		if c.next != "" {
			link = "<" + baseURL + "/store/orders?cursor=" + c.next + `&limit=2>; rel="next", ` + link
		}
		if rec.Body.String() != "["+c.body+"]\n" || header(rec, "X-Next-Cursor") != c.next || header(rec, "Link") != link {
			t.Errorf("%s: %s %v", c.query, rec.Body, rec.Result().Header)
		}
	}
}

func TestBadOrders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, target, body string
		code, saying         string
	}{
		{"POST", "/v1/store/orders", "", "missing_body", "body"},
		{"POST", "/v1/store/orders", "[]", "validation_failed", "object, not an array"},
		{"POST", "/v1/store/orders", "{}", "validation_failed", "petId is required."},
		{"POST", "/v1/store/orders", `{"petid":1}`, "validation_failed", "petId is required."},
		{"POST", "/v1/store/orders", `{"petId":null}`, "invalid_json", "petId must not be null"},
		{"POST", "/v1/store/orders", `{"petId":"1"}`, "validation_failed", "petId must be an integer, not a string"},
		{"POST", "/v1/store/orders", `{"petId":1.5}`, "validation_failed", "petId must be an integer"},
		{"POST", "/v1/store/orders", `{"petId":9223372036854775808}`, "validation_failed", "petId must be a 64-bit integer"},
		{"POST", "/v1/store/orders", `{"petId":1,"quantity":0}`, "validation_failed", "quantity must be from 1 to 2147483647."},
		{"POST", "/v1/store/orders", `{"petId":1,"quantity":-1}`, "validation_failed", "quantity must be from 1"},
		{"POST", "/v1/store/orders", `{"petId":1,"quantity":2147483648}`, "validation_failed", "quantity must be from 1 to 2147483647."},
		{"POST", "/v1/store/orders", `{"petId":1,"quantity":4294967297}`, "validation_failed", "quantity must be from 1"},
		{"POST", "/v1/store/orders", `{"petId":1,"quantity":1e99}`, "validation_failed", "quantity must be a 64-bit integer"},
		{"POST", "/v1/store/orders", `{"petId":1,"quantity":0.5}`, "validation_failed", "quantity must be an integer"},
		{"POST", "/v1/store/orders", `{"petId":1,"quantity":null}`, "invalid_json", "quantity must not be null"},
		{"POST", "/v1/store/orders", `{"petId":1,"quantity":"2"}`, "validation_failed", "quantity must be an integer, not a string"},
		{"POST", "/v1/store/orders", `{"petId":[],"quantity":0}`, "validation_failed", "petId must be an integer, not an array; quantity must be from"},
		{"POST", "/v1/store/orders", `{"petId":1,"petId":1}`, "invalid_json", "appears twice"},
		{"POST", "/v1/store/orders", `{"petId":0}`, "pet_not_found", "No animal"},
		{"POST", "/v1/store/orders", `{"petId":-9223372036854775808}`, "pet_not_found", "No animal"},
		{"PATCH", "/v1/store/orders/1", "", "missing_body", "body"},
		{"PATCH", "/v1/store/orders/1", "{}", "validation_failed", "status is required."},
		{"PATCH", "/v1/store/orders/1", `{"status":"sold"}`, "validation_failed", "status must be one of placed, approved, delivered, cancelled."},
		{"PATCH", "/v1/store/orders/1", `{"status":"Approved"}`, "validation_failed", "status must be one of"},
		{"PATCH", "/v1/store/orders/1", `{"status":1}`, "validation_failed", "status must be a string, not a number"},
		{"PATCH", "/v1/store/orders/1", `{"status":null}`, "invalid_json", "status must not be null"},
		{"PATCH", "/v1/store/orders/abc", `{"status":null}`, "invalid_json", "status must not be null"},
		{"PATCH", "/v1/store/orders/abc", `{"status":"approved"}`, "order_not_found", "orderId must be a 64-bit integer"},
		{"PATCH", "/v1/store/orders/01", `{"status":"approved"}`, "order_not_found", "orderId must be"},
		{"PATCH", "/v1/store/orders/9223372036854775808", `{"status":"approved"}`, "order_not_found", "orderId must be"},
		{"PATCH", "/v1/store/orders/9", `{"status":"approved"}`, "order_not_found", "No order"},
		{"GET", "/v1/store/orders?status=available", "", "invalid_parameter", "status must be one of placed, approved, delivered, cancelled."},
		{"GET", "/v1/store/orders?status=", "", "invalid_parameter", "status must be one of"},
		{"GET", "/v1/store/orders?limit=101&status=x", "", "invalid_parameter", "limit must be an integer from 1 to 100; status must be"},
		{"GET", "/v1/store/orders?cursor=zz", "", "invalid_cursor", "cursor must be"},
		{"GET", "/v1/store/orders?cursor=0000000000000001&cursor=0000000000000001", "", "invalid_parameter", "only once"},
	} {
		t.Run(c.method+" "+c.target+" "+c.body, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			id := w.addPet(t, catalog.Available)
			if _, err := w.orders.PlaceOrder(t.Context(), 1, catalog.NewOrder{PetID: id, Quantity: 1}); err != nil {
				t.Fatal(err)
			}
			refuses(t, w, w.request(c.method, c.target, c.body), statusOf(c.code), c.code, c.saying)
			if got := w.orders.orders[1]; len(got) != 1 || got[0].Status != catalog.Placed {
				t.Errorf("orders %v", got)
			}
		})
	}
}

// statusOf returns a code's status.
func statusOf(code string) int {
	for _, c := range codes {
		if c.name == code {
			return c.status
		}
	}
	return 0
}
