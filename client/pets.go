package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"
)

// PetStatus is an animal's availability.
type PetStatus string

// The statuses of an animal. It goes from available to pending to sold, or from pending back to available; sold is final.
const (
	PetAvailable PetStatus = "available"
	PetPending   PetStatus = "pending"
	PetSold      PetStatus = "sold"
)

// Pet is an animal of your catalogue.
type Pet struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	CategoryID int64     `json:"categoryId"`
	Status     PetStatus `json:"status"`
}

// NewPet is an animal before it has an id.
type NewPet struct {
	// Name has 1 to 255 characters, at least one of which is not white space.
	Name string `json:"name"`
	// CategoryID is a number of your own.
	CategoryID int64 `json:"categoryId"`
	// Status is available when it is empty.
	Status PetStatus `json:"status,omitempty"`
}

// PetPatch is what shall change of an animal. Nil fields stay as they are.
type PetPatch struct {
	Name       *string    `json:"name,omitempty"`
	CategoryID *int64     `json:"categoryId,omitempty"`
	Status     *PetStatus `json:"status,omitempty"`
}

// ListPetsParams says which animals to list.
type ListPetsParams struct {
	// Limit is the most animals of a page, 1 to 100; 0 is 20 for [Client.ListPets] and 100 for [Client.Pets].
	Limit int
	// Status restricts the list to that status; empty is all.
	Status PetStatus
	// Cursor is a page's NextCursor; empty is the beginning. It never expires.
	Cursor string
	// IfNoneMatch is a page's ETag. When the page is still the same, the answer is short: NotModified. [Client.Pets] takes no
	// notice of it.
	IfNoneMatch string
}

// PetPage is a part of the list.
type PetPage struct {
	// Pets are in ascending order of id.
	Pets []Pet
	// NextCursor is where the next page begins; empty on the last.
	NextCursor string
	// ETag is the mark of exactly this page, NextCursor included.
	ETag string
	// NotModified tells that the page is still the one that IfNoneMatch marks. Pets is empty then, and so may be NextCursor.
	NotModified bool
	Rate        Rate
}

// ListPets returns one page of your animals.
func (c *Client) ListPets(ctx context.Context, params ListPetsParams, opts ...CallOption) (*PetPage, error) {
	cl := &call{
		method:      http.MethodGet,
		path:        "pets",
		query:       listQuery(params.Limit, string(params.Status), params.Cursor),
		ifNoneMatch: params.IfNoneMatch,
	}
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

// Pets walks over your animals from params.Cursor to the end, page by page. Animals that are there all the time are seen
// exactly once, whatever is added or changed meanwhile. After an error it ends.
func (c *Client) Pets(ctx context.Context, params ListPetsParams, opts ...CallOption) iter.Seq2[Pet, error] {
	params.IfNoneMatch = ""
	if params.Limit == 0 {
		params.Limit = largestPage
	}
	return each(params.Cursor, func(cursor string) ([]Pet, string, error) {
		params.Cursor = cursor
		page, err := c.ListPets(ctx, params, opts...)
		if err != nil {
			return nil, "", err
		}
		return page.Pets, page.NextCursor, nil
	})
}

// CreatePet adds an animal. However often it has to be sent, one is added; see [IdempotencyKey] for more.
func (c *Client) CreatePet(ctx context.Context, pet NewPet, opts ...CallOption) (*Pet, error) {
	return c.pet(ctx, &call{method: http.MethodPost, path: "pets"}, pet, opts)
}

// GetPet returns one animal, or [CodePetNotFound].
//
// Deprecated: the operation will be removed on 5 December 2030 and answers [CodeEndpointRemoved] from then on. Use
// [Client.ListPets] or [Client.Pets] with a Status.
func (c *Client) GetPet(ctx context.Context, petID int64, opts ...CallOption) (*Pet, error) {
	return c.pet(ctx, &call{method: http.MethodGet, path: petPath(petID)}, nil, opts)
}

// UpdatePet changes an animal and returns it as it is then, or [CodePetNotFound], or [CodeInvalidTransition] for a step that its
// status can't take, or that an order holds back. When the error
// is no [*Error], the change may have been made; to make it again does no harm.
//
// The operation is in beta: it may change with 30 days' notice.
func (c *Client) UpdatePet(ctx context.Context, petID int64, patch PetPatch, opts ...CallOption) (*Pet, error) {
	return c.pet(ctx, &call{method: http.MethodPatch, path: petPath(petID)}, patch, opts)
}

func petPath(id int64) string { return "pets/" + strconv.FormatInt(id, 10) }

func (c *Client) pet(ctx context.Context, cl *call, in any, opts []CallOption) (*Pet, error) {
	var pet Pet
	if _, err := c.do(ctx, cl, in, &pet, opts); err != nil {
		return nil, err
	}
	return &pet, nil
}
