package api

import (
	"net/http"
	"testing"

	"petstore.example/internal/catalog"
)

func TestAddListGet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, step := range []struct {
		method, target, body string
		status               int
		answer               string
	}{
		{"GET", "/v1/pets", "", 200, "[]\n"},
		{"POST", "/v1/pets", `{"name":"Rex & <Co>","categoryId":7}`, 201, `{"id":1,"name":"Rex & <Co>","categoryId":7,"status":"available"}` + "\n"},
		{"POST", "/v1/pets", `{"name":"Mia","categoryId":-1.0e1,"status":"sold","id":99}`, 201, `{"id":2,"name":"Mia","categoryId":-10,"status":"sold"}` + "\n"},
		{"GET", "/v1/pets?status=sold", "", 200, `[{"id":2,"name":"Mia","categoryId":-10,"status":"sold"}]` + "\n"},
		{"GET", "/v1/pets/1", "", 200, `{"id":1,"name":"Rex & <Co>","categoryId":7,"status":"available"}` + "\n"},
		{"HEAD", "/v1/pets/1", "", 200, ""},
		{"GET", "/v1/pets/3", "", 404, `{"code":"pet_not_found","message":"No animal with this ID exists in your catalogue.","status":404}` + "\n"},
	} {
		rec := w.do(w.request(step.method, step.target, step.body))
		if rec.Code != step.status || rec.Body.String() != step.answer {
			t.Errorf("%s %s: %d %s, want %d %s", step.method, step.target, rec.Code, rec.Body, step.status, step.answer)
		}
		if step.status == http.StatusCreated && header(rec, "Location") == "" {
			t.Errorf("%s %s: no Location", step.method, step.target)
		}
	}
}

func TestChangePet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addPet(t, catalog.Available)
	forbidden := func(text string) string { return failure(409, "invalid_transition", "An animal that is "+text+".") }
	w.walk(t, []step{
		{"PATCH", "/v1/pets/1", `{"name":"Mia & Co"}`, 200, `{"id":1,"name":"Mia & Co","categoryId":7,"status":"available"}`},
		{"PATCH", "/v1/pets/1", `{"categoryId":-1.0e1,"id":9}`, 200, `{"id":1,"name":"Mia & Co","categoryId":-10,"status":"available"}`},
		{"PATCH", "/v1/pets/1", `{}`, 200, `{"id":1,"name":"Mia & Co","categoryId":-10,"status":"available"}`},
		{"PATCH", "/v1/pets/1", `{"status":"available"}`, 200, `{"id":1,"name":"Mia & Co","categoryId":-10,"status":"available"}`},
		{"PATCH", "/v1/pets/1", `{"name":"Rex","status":"sold"}`, 409, forbidden("available cannot become sold, only pending")},
		{"PATCH", "/v1/pets/1", `{"status":"pending"}`, 200, `{"id":1,"name":"Mia & Co","categoryId":-10,"status":"pending"}`},
		{"PATCH", "/v1/pets/1", `{"status":"available"}`, 200, `{"id":1,"name":"Mia & Co","categoryId":-10,"status":"available"}`},
		{"PATCH", "/v1/pets/1", `{"status":"pending"}`, 200, `{"id":1,"name":"Mia & Co","categoryId":-10,"status":"pending"}`},
		{"PATCH", "/v1/pets/1", `{"status":"sold","name":"Rex"}`, 200, `{"id":1,"name":"Rex","categoryId":-10,"status":"sold"}`},
		{"PATCH", "/v1/pets/1", `{"status":"pending"}`, 409, forbidden("sold cannot become pending, because sold is final")},
		{"GET", "/v1/pets/1", "", 200, `{"id":1,"name":"Rex","categoryId":-10,"status":"sold"}`},
		{"PATCH", "/v1/pets/2", `{"status":"pending"}`, 404, failure(404, "pet_not_found", "No animal with this ID exists in your catalogue.")},
	})
}

// TestChangeStays: PATCH is not deprecated with GET.
func TestChangeStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addPet(t, catalog.Available)
	w.setClock(removal)
	rec := w.do(w.request("PATCH", "/v1/pets/1", `{"name":"Mia"}`))
	if rec.Code != 200 || header(rec, "Deprecation") != "" || header(rec, "Sunset") != "" || header(rec, "Link") != "" {
		t.Errorf("%d %v", rec.Code, rec.Result().Header)
	}
}

func TestBadChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, body, code, saying string }{
		{"/v1/pets/1", "", "missing_body", "body"},
		{"/v1/pets/1", "null", "invalid_json", "not null"},
		{"/v1/pets/1", "[]", "validation_failed", "object, not an array"},
		{"/v1/pets/1", `{"name":null}`, "invalid_json", "name must not be null"},
		{"/v1/pets/1", `{"name":""}`, "validation_failed", "name must not be empty"},
		{"/v1/pets/1", `{"name":"a\u0000"}`, "validation_failed", "NUL"},
		{"/v1/pets/1", `{"categoryId":null}`, "invalid_json", "categoryId must not be null"},
		{"/v1/pets/1", `{"categoryId":1.5}`, "validation_failed", "categoryId must be an integer"},
		{"/v1/pets/1", `{"status":"Sold"}`, "validation_failed", "status must be one of available, pending, sold."},
		{"/v1/pets/1", `{"name":5,"categoryId":"","status":{}}`, "validation_failed",
			"name must be a string, not a number; categoryId must be an integer, not a string; status must be a string, not an object."},
		{"/v1/pets/1", `{"status":"pending","status":"pending"}`, "invalid_json", "appears twice"},
		{"/v1/pets/abc", `{"status":"Sold"}`, "validation_failed", "status must be"},
		{"/v1/pets/abc", `{}`, "pet_not_found", "petId must be a 64-bit integer"},
		{"/v1/pets/9223372036854775808", `{}`, "pet_not_found", "petId must be"},
		{"/v1/pets/2", `{}`, "pet_not_found", "No animal"},
	} {
		t.Run(c.target+" "+c.body, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.addPet(t, catalog.Available)
			before := w.pets.pets[1][0]
			refuses(t, w, w.request("PATCH", c.target, c.body), statusOf(c.code), c.code, c.saying)
			if after := w.pets.pets[1][0]; after != before {
				t.Errorf("changed to %v", after)
			}
		})
	}
}
