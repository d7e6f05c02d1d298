package api

import (
	"testing"

	"petstore.example/internal/catalog"
)

func TestAddListGet(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.walk(t, []step{
		{"GET", "/v1/pets", "", 200, "[]"},
		{"POST", "/v1/pets", `{"name":"Rex & <Co>","categoryId":7}`, 201, `{"id":1,"name":"Rex & <Co>","categoryId":7,"status":"available"}`},
		{"POST", "/v1/pets", `{"name":"Mia","categoryId":-1.0e1,"status":"sold","id":99}`, 201, `{"id":2,"name":"Mia","categoryId":-10,"status":"sold"}`},
		{"GET", "/v1/pets?status=sold", "", 200, `[{"id":2,"name":"Mia","categoryId":-10,"status":"sold"}]`},
		{"GET", "/v1/pets/1", "", 200, `{"id":1,"name":"Rex & <Co>","categoryId":7,"status":"available"}`},
		{"HEAD", "/v1/pets/1", "", 200, ""},
		{"GET", "/v1/pets/3", "", 404, failure(404, "pet_not_found", "No animal with this ID exists in your catalogue.")},
	})
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
