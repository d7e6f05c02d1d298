package catalog

import (
	"cmp"
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
	// ErrPreconditionFailed: the animal or order is not the one that the change is for.
	ErrPreconditionFailed = errors.New("the precondition of the change does not hold")
	// ErrUnavailable: the store is down or did not answer in time; a later retry helps.
	ErrUnavailable = errors.New("catalogue unavailable")
	// ErrManyReads: the tenant makes as many calls at the same time as it may of those that count
	// in no window, and too many more wait.
	ErrManyReads = errors.New("too many uncounted calls of the tenant at the same time")
	// ErrNotMade: a change that failed certainly was not made, and never will be. After an
	// ErrUnavailable without it nobody knows.
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

// ParseStatus returns the status with exactly that name, and whether it exists. It does not return
// s, which may be part of the text of a whole request, because cached lists keep their status.
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

// NewPet is an animal to be created: all that clients write.
type NewPet struct {
	Name       string `json:"name"       db:"name"`
	CategoryID int64  `json:"categoryId" db:"category_id"`
	Status     Status `json:"status"     db:"status"`
}

// Outcome is what became of one of several things that were asked for together: a result, or an
// error.
type Outcome[T any] struct {
	Result T
	Err    error
}

// PetPatch is a change to an animal. Nil fields stay as they are.
type PetPatch struct {
	// Precondition, if not nil, returns ErrPreconditionFailed if the present animal must not be
	// changed.
	Precondition func(Pet) error

	Name       *string
	CategoryID *int64
	Status     *Status
}

// PetChange is a change to the animal with that ID.
type PetChange struct {
	ID int64
	PetPatch
}

// DependsOnNothing reports whether the change can be made whatever the animal is now.
func (c PetPatch) DependsOnNothing() bool { return c.Precondition == nil && c.Status == nil }

// Then returns the change, and another one after it, as one change. Both depend on nothing.
func (c PetPatch) Then(next PetPatch) PetPatch {
	return PetPatch{Name: cmp.Or(next.Name, c.Name), CategoryID: cmp.Or(next.CategoryID, c.CategoryID)}
}

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
// points, one of which is not white space, and no NUL. It is stored as it is.
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
	// IDs are those of the animals that are listed, if they exist; nil for all.
	IDs []int64
	// CategoryID filters the list; nil for all.
	CategoryID *int64
	// NamePrefix is how the names of the listed animals begin; empty for all.
	NamePrefix string
}

// Matches reports whether the filters of the page let an animal through.
func (p Page) Matches(pet Pet) bool {
	return (p.Status == "" || pet.Status == p.Status) &&
		(p.IDs == nil || slices.Contains(p.IDs, pet.ID)) &&
		(p.CategoryID == nil || pet.CategoryID == *p.CategoryID) &&
		strings.HasPrefix(pet.Name, p.NamePrefix)
}

// Store stores the catalogues of all tenants. Every method accesses one tenant's only.
type Store interface {
	// ListPets returns the page in ascending order of ID, and the ID after which the next page
	// begins, 0 if there is none. A page that selects by name may have fewer animals than there
	// are, or none, and a next page.
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
