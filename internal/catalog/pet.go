package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Errors of a Store. Stores wrap them, so compare with errors.Is.
var (
	// ErrPetNotFound: the tenant has no such animal. Animals of other tenants are not found.
	ErrPetNotFound = errors.New("no such animal")
	// ErrPreconditionFailed: the animal or order is in another state than the change requires.
	ErrPreconditionFailed = errors.New("the precondition of the change does not hold")
	// ErrUnavailable: the store is down or did not answer in time; a later retry helps.
	ErrUnavailable = errors.New("catalogue unavailable")
	// ErrManyReads: the tenant has as many uncounted calls under way as it may, and too many more
	// wait.
	ErrManyReads = errors.New("too many uncounted calls of the tenant at the same time")
	// ErrNotMade: the failed change was not made, and never will be. An ErrUnavailable alone leaves
	// that open.
	ErrNotMade = errors.New("the change was not made")
)

// Status is the availability of an animal: PetStatus in the API.
type Status string

// The statuses an animal can have. It goes available → pending → sold, or from pending back to
// available.
const (
	Available Status = "available"
	Pending   Status = "pending"
	Sold      Status = "sold"
)

// ParseStatus returns the status with exactly that name, and whether it exists. It returns a
// constant, not s: s may be part of the text of a whole request, which a cached list would keep in
// memory.
func ParseStatus(s string) (Status, bool) {
	for _, known := range []Status{Available, Pending, Sold} {
		if s == string(known) {
			return known, true
		}
	}
	return "", false
}

// Pet is an animal in a tenant's catalogue, in the form of the API.
type Pet struct {
	ID int64 `json:"id" db:"id"`
	NewPet
}

// NewPet is an animal to be created: all members that clients write.
type NewPet struct {
	Name       string `json:"name"       db:"name"`
	CategoryID int64  `json:"categoryId" db:"category_id"`
	Status     Status `json:"status"     db:"status"`
}

// PetPatch is a change to an animal. Nil fields change nothing.
type PetPatch struct {
	// Precondition, if not nil, returns ErrPreconditionFailed if the present animal must not be
	// changed.
	Precondition func(Pet) error

	Name       *string
	CategoryID *int64
	Status     *Status
}

// DependsOnNothing reports whether the change can be made in any state of the animal.
func (c PetPatch) DependsOnNothing() bool { return c.Precondition == nil && c.Status == nil }

// Apply returns the changed animal, the error of the precondition, or a *TransitionError if the new
// status is forbidden.
func (c PetPatch) Apply(p Pet) (Pet, error) {
	if c.Precondition != nil {
		if err := c.Precondition(p); err != nil {
			return Pet{}, err
		}
	}
	if c.Status != nil {
		if err := p.Status.CheckStep(*c.Status); err != nil {
			return Pet{}, err
		}
	}
	c.Set(&p.NewPet)
	return p, nil
}

// Set writes the fields that are not nil.
func (c PetPatch) Set(p *NewPet) {
	set(&p.Name, c.Name)
	set(&p.CategoryID, c.CategoryID)
	set(&p.Status, c.Status)
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// maxNameLength is in code points.
const maxNameLength = 255

// CheckName returns an error if the name of an animal is not valid. A valid name has 1 to 255 code
// points, at least one of them not white space, and no NUL. It is stored unchanged.
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

// Page selects a page of a list of animals in ascending order of ID.
type Page struct {
	// After is the ID after which the page begins.
	After int64
	// Limit is the maximum number of animals, at least 1.
	Limit int
	// Status filters the list; empty for all.
	Status Status
	// IDs lists only these animals, if they exist; nil for all.
	IDs []int64
	// CategoryID filters the list; nil for all.
	CategoryID *int64
	// NamePrefix lists only animals whose names begin with it; empty for all.
	NamePrefix string
}

// Matches reports whether an animal passes the filters of the page.
func (p Page) Matches(pet Pet) bool {
	return (p.Status == "" || pet.Status == p.Status) &&
		(p.IDs == nil || slices.Contains(p.IDs, pet.ID)) &&
		(p.CategoryID == nil || pet.CategoryID == *p.CategoryID) &&
		strings.HasPrefix(pet.Name, p.NamePrefix)
}

// Store stores the catalogues of all tenants. Every method accesses one tenant's only.
type Store interface {
	// ListPets returns the page in ascending order of ID, and the ID after which the next page
	// begins, 0 if there is none. A page that selects by name may have fewer animals than the
	// limit, or none, and still a next page.
	ListPets(ctx context.Context, tenantID int64, p Page) (pets []Pet, next int64, err error)
	// GetPet returns ErrPetNotFound if the tenant has no such animal.
	GetPet(ctx context.Context, tenantID, id int64) (Pet, error)
	// CreatePet assigns the ID of the animal.
	CreatePet(ctx context.Context, tenantID int64, p NewPet) (Pet, error)
	// ChangePet returns the changed animal. It returns ErrPetNotFound, the error of the
	// precondition, or a *TransitionError if the new status is forbidden or an order holds the
	// animal. Nothing changes between the precondition and the change.
	ChangePet(ctx context.Context, tenantID, id int64, c PetPatch) (Pet, error)
}
