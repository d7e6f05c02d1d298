package api

import (
	"context"
	"strconv"
	"strings"

	"petstore.example/internal/api/pagecache"
	"petstore.example/internal/catalog"
)

// listPets is GET /v1/pets. It uses the page cache if the page in it is certainly current.
func listPets(a *api, x *exchange) error {
	r, err := parseListRequest(x.Request.URL.RawQuery, catalog.ParseStatus, petStatuses)
	if err != nil {
		return err
	}
	// Links keep unknown parameters, so such pages fit no other request and are not cached.
	cache, stamp := a.pageCache, x.decision.Stamp
	if r.others != nil {
		cache = nil
	}
	key := pagecache.Key{
		Tenant: x.caller.Tenant.ID, After: r.after, Status: string(r.status), Limit: r.pageSize, LimitGiven: r.limitParam.times > 0,
	}
	p := cache.Get(key, stamp)
	if p == nil {
		if p, err = readPets(a, x, &r); err != nil {
			return err
		}
		cache.Put(key, stamp, p)
	}
	x.writePage(p)
	return nil
}

// readPets reads a page from the database.
func readPets(a *api, x *exchange, r *listRequest[catalog.Status]) (*pagecache.Page, error) {
	page := catalog.Page{After: r.after, Limit: r.pageSize, Status: r.status}
	pets, more, err := a.Pets.ListPets(x.Request.Context(), x.caller.Tenant.ID, page)
	if err != nil {
		return nil, err
	}
	return newListPage(&r.listQuery, a.petsURL, pets, more, func(p *catalog.Pet) int64 { return p.ID })
}

// createPet is POST /v1/pets.
func createPet(a *api, x *exchange) error {
	return create(a, x, decodeNewPet, func(ctx context.Context, c catalog.Creator, n catalog.NewPet) (any, string, error) {
		pet, err := c.CreatePet(ctx, x.caller.Tenant.ID, n)
		return &pet, itemURL(a.petsURL, pet.ID), err
	})
}

// getPet is GET /v1/pets/{petId}, deprecated.
func getPet(a *api, x *exchange) error {
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
func changePet(a *api, x *exchange) error {
	data, strict, err := readBody(a.bodies, x)
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
		return 0, codePetNotFound.withMessage("petId must be a 64-bit integer.")
	}
	return id, nil
}

// itemURL is the address of one row of a list.
func itemURL(list string, id int64) string { return list + "/" + strconv.FormatInt(id, 10) }

// parseID reads an int64 in its usual form: no plus sign, no leading zeros.
func parseID(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] == '+' || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil
}
