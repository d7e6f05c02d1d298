package api

import (
	"context"
	"strconv"
	"strings"

	"petstore.example/internal/catalog"
)

// listPets is GET /v1/pets. It answers from memory where the page there is certainly the present one.
func (a *api) listPets(x *exchange) error {
	query, err := parseListQuery(x.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	at, status, err := page(&query, catalog.ParseStatus, petStatuses)
	if err != nil {
		return err
	}
	// Links keep parameters that we don't know, so pages with such are kept for nobody else.
	memory, version := a.memory, x.decision.Version
	if query.others != nil {
		memory = nil
	}
	key := listKey{x.caller.Tenant.ID, at.after, status, at.limit, query.limit.times > 0}
	p := memory.get(key, version)
	if p == nil {
		if p, err = a.readPets(x, &query, catalog.Page{After: at.after, Limit: at.limit, Status: status}); err != nil {
			return err
		}
		if memory.wants(key, version) {
			memory.keep(key, version, p)
		}
	}
	x.answerPage(p)
	return nil
}

// readPets reads a page from the database.
func (a *api) readPets(x *exchange, query *listQuery, asked catalog.Page) (*listPage, error) {
	pets, more, err := a.Pets.ListPets(x.Request.Context(), x.caller.Tenant.ID, asked)
	if err != nil {
		return nil, err
	}
	next := ""
	if more && len(pets) > 0 {
		next = formatCursor(pets[len(pets)-1].ID)
	}
	return finish(query, a.petsURL, pets, next)
}

// createPet is POST /v1/pets.
func (a *api) createPet(x *exchange) error {
	return create(a, x, decodeNewPet, func(ctx context.Context, c catalog.Creator, n catalog.NewPet) (any, string, error) {
		pet, err := c.CreatePet(ctx, x.caller.Tenant.ID, n)
		return &pet, item(a.petsURL, pet.ID), err
	})
}

// getPet is GET /v1/pets/{petId}, deprecated.
func (a *api) getPet(x *exchange) error {
	id, err := petID(x)
	if err != nil {
		return err
	}
	pet, err := a.Pets.GetPet(x.Request.Context(), x.caller.Tenant.ID, id)
	if err != nil {
		return err
	}
	return x.json(&pet)
}

// changePet is PATCH /v1/pets/{petId}, beta.
func (a *api) changePet(x *exchange) error {
	data, strict, err := readBody(x)
	if err != nil {
		return err
	}
	change, err := decodePetPatch(data, strict)
	if err != nil {
		return err
	}
	id, err := petID(x)
	if err != nil {
		return err
	}
	pet, err := a.Pets.ChangePet(x.Request.Context(), x.caller.Tenant.ID, id, change)
	if err != nil {
		return err
	}
	return x.json(&pet)
}

func petID(x *exchange) (int64, error) {
	id, ok := parseID(x.Param("petId"))
	if !ok {
		return 0, codePetNotFound.because("petId must be a whole number of 64 bits, written in decimal digits: no animal has any other id.")
	}
	return id, nil
}

// item is the address of one row of a list.
func item(list string, id int64) string { return list + "/" + strconv.FormatInt(id, 10) }

// parseID reads an int64 in its one usual form: no plus sign, no leading zeros.
func parseID(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] == '+' || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil
}
