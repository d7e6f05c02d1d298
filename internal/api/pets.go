package api

import (
	"context"
	"strconv"
	"strings"

	"petstore.example/internal/catalog"
)

// petsQuery is what GET /v1/pets asks for.
type petsQuery struct {
	listQuery
	position
	status catalog.Status
}

func parsePetsQuery(raw string) (q petsQuery, err error) {
	if q.listQuery, err = parseListQuery(raw); err != nil {
		return q, err
	}
	q.position, q.status, err = page(&q.listQuery, catalog.ParseStatus, petStatuses)
	return q, err
}

// listPets is GET /v1/pets. It answers from memory where the page there is certainly the present one.
func (a *api) listPets(x *exchange) error {
	q, err := parsePetsQuery(x.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	// Links keep parameters that we don't know, so pages with such are kept for nobody else.
	memory, version := a.memory, x.decision.Version
	if q.others != nil {
		memory = nil
	}
	key := listKey{x.caller.Tenant.ID, q.after, q.status, q.position.limit, q.listQuery.limit.times > 0}
	p := memory.get(key, version)
	if p == nil {
		if p, err = a.readPets(x, &q); err != nil {
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
func (a *api) readPets(x *exchange, q *petsQuery) (*listPage, error) {
	asked := catalog.Page{After: q.after, Limit: q.position.limit, Status: q.status}
	pets, more, err := a.Pets.ListPets(x.Request.Context(), x.caller.Tenant.ID, asked)
	if err != nil {
		return nil, err
	}
	next := ""
	if more && len(pets) > 0 {
		next = formatCursor(pets[len(pets)-1].ID)
	}
	return finish(&q.listQuery, a.petsURL, pets, next)
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
		return 0, codePetNotFound.withMessage("petId must be a whole number of 64 bits, written in decimal digits: no animal has any other id.")
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
