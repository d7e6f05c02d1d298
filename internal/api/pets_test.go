package api

import (
	"net/http"
	"testing"
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
		{"GET", "/v1/pets/3", "", 404, `{"code":"pet_not_found","message":"No animal of that id is in your catalogue.","status":404}` + "\n"},
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
