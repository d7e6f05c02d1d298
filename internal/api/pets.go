package api

import (
	"context"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/pagecache"
	"petstore.example/internal/api/problem"
	"petstore.example/internal/catalog"
)

// listPets is GET /v1/pets. It uses a cached page if that is certainly current.
func listPets(a *api, x *exchange) error {
	r, err := parseListRequest(x, petListParams, httpfield.ParseCursor, catalog.ParseStatus, petStatuses)
	if err != nil {
		return err
	}
	// Pages with long filters are not cached: few clients ask for them twice.
	cache, stamp := a.pageCache, x.Decision.Stamp
	if len(r.filterText) > maxCachedFilters {
		cache = nil
	}
	if a.NoOldWrites != nil && !a.NoOldWrites() {
		stamp = 0
	}
	key := pagecache.Key{
		Tenant:     x.Caller.Tenant.ID,
		After:      r.after,
		Filters:    r.filterText,
		Limit:      r.pageSize,
		LimitGiven: r.limitParam.times > 0,
	}
	if key.Filters == "" {
		key.Filters = string(r.status)
	} else {
		key.Filters = string(r.status) + "&" + key.Filters
	}
	p := cache.Get(key, stamp)
	if p == nil {
		if p, err = cache.Read(key, stamp, func() (*pagecache.Page, error) { return a.readPets(x, &r) }); err != nil {
			return err
		}
	}
	f := x.pageForm(p)
	if f.compresses() {
		if both := p.WithGzip(); both != p {
			cache.Replace(key, p, both)
			p = both
		}
	}
	x.writePage(p, f)
	return nil
}

// maxCachedFilters is the longest text of filters, in bytes, for which pages are cached.
const maxCachedFilters = 64

// readPets reads a page from the database. It goes on if the client disconnects, because other
// requests may wait for the page. Noticing a disconnect would cost more than it saves, because a
// read that has begun is not interrupted.
func (a *api) readPets(x *exchange, r *listRequest[catalog.Status]) (*pagecache.Page, error) {
	page := r.filters
	page.After, page.Limit, page.Status = r.after, r.pageSize, r.status
	pets, next, err := a.Pets.ListPets(context.WithoutCancel(x.Request.Context()), x.Caller.Tenant.ID, page)
	if err != nil {
		return nil, err
	}
	p, err := newListPage(&r.listQuery, a.petsURL, pets, nextCursor(next))
	if err != nil || !x.pageForm(p).compresses() {
		return p, err
	}
	return p.WithGzip(), nil
}

// createPet is POST /v1/pets.
func createPet(a *api, x *exchange) error {
	return creation[catalog.NewPet, catalog.Pet]{
		decode: decodeNewPet, create: a.Pets.CreatePet, once: a.Requests.CreatePetOnce,
		location: func(p *catalog.Pet) string { return itemURL(a.petsURL, p.ID) },
	}.respond(a, x)
}

// getPet is GET /v1/pets/{petId}, deprecated.
func getPet(a *api, x *exchange) error {
	return showItem(x, "petId", problem.PetNotFound, a.Pets.GetPet)
}

// changePet is PATCH /v1/pets/{petId}, beta.
func changePet(a *api, x *exchange) error {
	return changeItem(a, x, "petId", problem.PetNotFound, func(data []byte, strict bool) (catalog.PetPatch, error) {
		change, err := readPet(data, strict)
		change.Precondition = ifMatch[catalog.Pet](x)
		return change, err
	}, a.Pets.ChangePet)
}
