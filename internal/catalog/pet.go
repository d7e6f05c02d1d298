package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Errors of a Store. Stores wrap them, so compare with errors.Is.
var (
	// ErrPetNotFound: the tenant has no such animal; another tenant's is not found either.
	ErrPetNotFound = errors.New("no such animal")
	// ErrUnavailable: the store can't be reached or did not answer in time; trying again later helps.
	ErrUnavailable = errors.New("catalogue unavailable")
)

// Status is an animal's availability (the contract's PetStatus).
type Status string

// The statuses an animal can have. It goes available → pending → sold, or from pending back to available.
const (
	Available Status = "available"
	Pending   Status = "pending"
	Sold      Status = "sold"
)

// ParseStatus returns the status of that exact name, and whether there is one. It does not keep s, which may be part of a whole
// request: lists are remembered by their status.
func ParseStatus(s string) (Status, bool) {
	for _, known := range []Status{Available, Pending, Sold} {
		if s == string(known) {
			return known, true
		}
	}
	return "", false
}

// Pet is an animal in a tenant's catalogue, in the shape that the contract gives it.
type Pet struct {
	ID         int64  `json:"id"         db:"id"`
	Name       string `json:"name"       db:"name"`
	CategoryID int64  `json:"categoryId" db:"category_id"`
	Status     Status `json:"status"     db:"status"`
}

// NewPet is an animal before it has an id.
type NewPet struct {
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     Status `json:"status"`
}

// PetPatch is a change to an animal. What is nil stays as it is.
type PetPatch struct {
	Name       *string
	CategoryID *int64
	Status     *Status
}

// Apply returns the animal with the change made. It returns a *TransitionError when the rules forbid its new status.
func (c PetPatch) Apply(p Pet) (Pet, error) {
	if c.Name != nil {
		p.Name = *c.Name
	}
	if c.CategoryID != nil {
		p.CategoryID = *c.CategoryID
	}
	if c.Status != nil {
		if err := p.Status.CheckStep(*c.Status); err != nil {
			return Pet{}, err
		}
		p.Status = *c.Status
	}
	return p, nil
}

// maxNameLength is in code points.
const maxNameLength = 255

// CheckName says what is wrong with an animal's name: it has 1 to 255 code points, at least one of which is not white
// space, and no NUL. A good name is stored as it is.
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return errors.New("name must not be empty")
	case n > maxNameLength:
		return fmt.Errorf("name must have at most %d characters, not %d", maxNameLength, n)
	case strings.ContainsRune(name, 0):
		return errors.New("name must not contain the NUL character")
	case strings.IndexFunc(name, func(r rune) bool { return !unicode.IsSpace(r) }) < 0:
		return errors.New("name must have at least one character that is not white space")
	}
	return nil
}

// Page asks for a part of a list in order of id.
type Page struct {
	// After is the id behind which the page begins.
	After int64
	// Limit is the most animals to return, at least 1.
	Limit int
	// Status restricts the list; empty for all.
	Status Status
}

// Store keeps the catalogues of all tenants. Every method is bound to one tenant's.
type Store interface {
	// ListPets returns the page in ascending order of id, and whether more follow it.
	ListPets(ctx context.Context, tenantID int64, p Page) (pets []Pet, more bool, err error)
	// GetPet returns ErrPetNotFound when the tenant has no such animal.
	GetPet(ctx context.Context, tenantID, id int64) (Pet, error)
	// CreatePet gives the animal its id.
	CreatePet(ctx context.Context, tenantID int64, p NewPet) (Pet, error)
	// ChangePet returns the animal as it is then. It returns ErrPetNotFound, or a *TransitionError when the rules forbid the
	// new status or an order holds the animal; nothing is changed then.
	ChangePet(ctx context.Context, tenantID, id int64, c PetPatch) (Pet, error)
}
