package client

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// PetStatus is the availability of an animal.
type PetStatus string

// The statuses of an animal. An animal changes from available to pending to sold, or from pending
// back to available; sold is final.
const (
	PetAvailable PetStatus = "available"
	PetPending   PetStatus = "pending"
	PetSold      PetStatus = "sold"
)

// Pet is an animal in your catalogue.
type Pet struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status"`
}

// NewPet is an animal to add.
type NewPet struct {
	// Name has 1 to 255 characters, at least one of which is not white space.
	Name string `json:"name"`
	// CategoryID is a number that you choose.
	CategoryID int64 `json:"categoryId"`
	// Status is available by default.
	Status PetStatus `json:"status,omitempty"`
}

// PetPatch is a change to an animal. Nil fields leave it unchanged.
type PetPatch struct {
	Name       *string    `json:"name,omitempty"`
	CategoryID *int64     `json:"categoryId,omitempty"`
	Status     *PetStatus `json:"status,omitempty"`
}

// ListPetsParams selects the animals to list.
type ListPetsParams struct {
	// Limit is the size of a page, 1 to 100. If it is 0, it is 20 for [Client.ListPets] and 100 for
	// [Client.Pets].
	Limit int
	// Status selects animals with that status, all if it is empty.
	Status PetStatus
	// IDs selects the animals with these IDs, at most 100, all if it is nil. IDs that do not exist
	// are left out.
	IDs []int64
	// CategoryID selects animals of that category, all if it is nil.
	CategoryID *int64
	// Name selects animals whose name begins with this prefix of at most 255 characters, all if it
	// is empty.
	Name string
	// Cursor is the NextCursor of a page, empty for the first page. It never expires.
	Cursor string
	// IfNoneMatch is the ETag of a page. If the page is unchanged, the result is NotModified.
	// [Client.Pets] ignores it.
	IfNoneMatch string
}

// PetPage is one page of a list.
type PetPage struct {
	// Pets are in ascending order of ID.
	Pets []Pet
	// NextCursor is the Cursor of the next page, empty on the last page.
	NextCursor string
	// ETag identifies the content of this page, including NextCursor. If the page has one animal
	// and none follow, it is that animal's ETag, for [IfMatch].
	ETag string
	// NotModified reports that the page is unchanged since IfNoneMatch. Then Pets is empty, and
	// NextCursor may be.
	NotModified bool
	Rate        Rate
}

// ListPets returns one page of your animals.
func (c *Client) ListPets(ctx context.Context, params ListPetsParams, opts ...CallOption) (*PetPage, error) {
	cl := &call{method: http.MethodGet, path: "pets", query: params.query(), ifNoneMatch: params.IfNoneMatch}
	var pets []Pet
	a, err := c.do(ctx, cl, nil, &pets, opts)
	if err != nil {
		return nil, err
	}
	return &PetPage{
		Pets:        pets,
		NextCursor:  nextCursor(a.header),
		ETag:        a.header.Get("ETag"),
		NotModified: a.status == http.StatusNotModified,
		Rate:        rateOf(a.header),
	}, nil
}

// query leaves out zero values. It keeps an empty list of IDs, which selects nothing: the service
// refuses it.
func (p ListPetsParams) query() url.Values {
	q := listQuery(
		map[string]any{
			"limit":      p.Limit,
			"status":     p.Status,
			"categoryId": p.CategoryID,
			"name":       p.Name,
			"cursor":     p.Cursor,
		},
	)
	if p.IDs != nil {
		ids := make([]string, len(p.IDs))
		for i, id := range p.IDs {
			ids[i] = strconv.FormatInt(id, 10)
		}
		q.Set("ids", strings.Join(ids, ","))
	}
	return q
}

// Pets iterates over your animals from params.Cursor to the end, page by page. Animals that exist
// for the whole iteration are returned exactly once, even if others are added or changed. The
// iteration ends after an error.
func (c *Client) Pets(ctx context.Context, params ListPetsParams, opts ...CallOption) iter.Seq2[Pet, error] {
	params.IfNoneMatch = ""
	params.Limit = cmp.Or(params.Limit, maxPageSize)
	return paginate(params.Cursor, func(cursor string) ([]Pet, string, error) {
		params.Cursor = cursor
		page, err := c.ListPets(ctx, params, opts...)
		if err != nil {
			return nil, "", err
		}
		return page.Pets, page.NextCursor, nil
	})
}

// CreatePet adds an animal. Retries add one animal only; see also [IdempotencyKey].
func (c *Client) CreatePet(ctx context.Context, pet NewPet, opts ...CallOption) (*Pet, error) {
	return fetch[Pet](ctx, c, &call{method: http.MethodPost, path: "pets", repeatable: true}, pet, opts)
}

// GetPet returns one animal. It fails with [CodePetNotFound].
//
// Deprecated: the operation will be removed on 5 December 2030; after that it fails with
// [CodeEndpointRemoved]. Use [Client.ListPets] or [Client.Pets] with a Status or with IDs.
func (c *Client) GetPet(ctx context.Context, petID int64, opts ...CallOption) (*Pet, error) {
	return fetch[Pet](ctx, c, &call{method: http.MethodGet, path: petPath(petID)}, nil, opts)
}

// UpdatePet changes an animal and returns it. It fails with [CodePetNotFound], or with
// [CodeInvalidTransition] if the status cannot change in this way or an order holds the animal.
// With [IfMatch] it changes the animal only if nobody else has. After [CodeOutcomeUnknown], or an
// error that is not an [*Error], the change may have been made. Repeating it is harmless without
// IfMatch. With IfMatch, your own change may cause the [CodePreconditionFailed]: list the animal
// again.
//
// This operation is in beta and may change with 30 days' notice.
func (c *Client) UpdatePet(ctx context.Context, petID int64, patch PetPatch, opts ...CallOption) (*Pet, error) {
	return fetch[Pet](ctx, c, &call{method: http.MethodPatch, path: petPath(petID)}, patch, opts)
}

func petPath(id int64) string { return "pets/" + strconv.FormatInt(id, 10) }
