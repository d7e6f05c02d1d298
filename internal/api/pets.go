package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"petstore.example/internal/catalog"
)

// listPets is GET /v1/pets.
func (a *api) listPets(x *exchange) error {
	page, query, err := listParams(x.Request.URL.RawQuery)
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
	x.set("Link", pageLinks(a.BaseURL+"/pets", query, next))
	return x.json(http.StatusOK, pets)
}

// pageLinks are the list's links (RFC 8288): the next page, if there is one, and the first, with all other parameters
// as they were.
func pageLinks(list string, query url.Values, next string) string {
	if query == nil {
		query = url.Values{}
	}
	query.Del("cursor")
	first := "<" + withQuery(list, query) + `>; rel="first"`
	if next == "" {
		return first
	}
	query.Set("cursor", next)
	return "<" + withQuery(list, query) + `>; rel="next", ` + first
}

func withQuery(list string, query url.Values) string {
	if len(query) == 0 {
		return list
	}
	return list + "?" + query.Encode()
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
	x.set("Location", a.BaseURL+"/pets/"+strconv.FormatInt(created.ID, 10))
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
