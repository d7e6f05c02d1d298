package api

import (
	"net/http"
	"testing"

	"petstore.example/internal/catalog"
)

func TestAddListGet(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
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
	w := newFixture(t)
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
	w := newFixture(t)
	w.addPet(t, catalog.Available)
	w.setClock(removal)
	rec := w.do(w.request("PATCH", "/v1/pets/1", `{"name":"Mia"}`))
	if rec.Code != 200 || header(rec, "Deprecation") != "" || header(rec, "Sunset") != "" || header(rec, "Link") != "" {
		t.Errorf("%d %v", rec.Code, rec.Result().Header)
	}
}
