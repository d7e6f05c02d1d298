package api

import (
	"net/http"
	"strconv"
	"strings"

	"petstore.example/internal/catalog"
)

// listPets is GET /v1/pets.
func (a *api) listPets(x *exchange) error {
	query, err := parseListQuery(x.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	page, err := query.page()
	if err != nil {
		return err
	}
	pets, more, err := a.Pets.ListPets(x.Request.Context(), x.caller.Tenant.ID, page)
	if err != nil {
		return err
	}
	if pets == nil {
		pets = []catalog.Pet{}
	}
	next := ""
	if more && len(pets) > 0 {
		next = formatCursor(pets[len(pets)-1].ID)
		x.set("X-Next-Cursor", next)
	}
	x.set("Link", query.links(a.petsURL, next))
	return x.json(http.StatusOK, pets)
}

// createPet is POST /v1/pets.
func (a *api) createPet(x *exchange) error {
	data, err := readBody(x)
	if err != nil {
		return err
	}
	pet, err := decodeNewPet(data)
	if err != nil {
		return err
	}
	created, err := a.Pets.CreatePet(x.Request.Context(), x.caller.Tenant.ID, pet)
	if err != nil {
		return err
	}
	x.set("Location", a.petsURL+"/"+strconv.FormatInt(created.ID, 10))
	return x.json(http.StatusCreated, &created)
}

// getPet is GET /v1/pets/{petId}, deprecated.
func (a *api) getPet(x *exchange) error {
	id, ok := parseID(x.Param("petId"))
	if !ok {
		return codePetNotFound.because("petId must be a whole number of 64 bits, written in decimal digits: no animal has any other id.")
	}
	pet, err := a.Pets.GetPet(x.Request.Context(), x.caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, &pet)
}

// parseID reads an int64 in its one usual form: no plus sign, no leading zeros.
func parseID(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] == '+' || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil
}
