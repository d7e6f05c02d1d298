package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalidTransition matches every TransitionError.
var ErrInvalidTransition = errors.New("invalid transition")

// TransitionError is a forbidden step from one status to another. Its text is written for
// customers.
type TransitionError struct {
	// Item is the thing that has the status: "animal" or "order".
	Item     string
	From, To string
	// Allowed are the statuses that can follow From; none if it is final.
	Allowed []string
	// Held is set if an order holds the animal, so that its status cannot change.
	Held bool
}

func (e *TransitionError) Error() string {
	why := ", only " + strings.Join(e.Allowed, " or ")
	switch {
	case e.Held:
		why = " while an order holds it: deliver or cancel the order"
	case len(e.Allowed) == 0:
		why = ", because " + e.From + " is final"
	}
	return fmt.Sprintf("An %s that is %s cannot become %s%s", e.Item, e.From, e.To, why)
}

// Is reports whether target is ErrInvalidTransition.
func (e *TransitionError) Is(target error) bool { return target == ErrInvalidTransition }

// The statuses that can follow each status.
var (
	petSteps = map[Status][]Status{
		Available: {Pending},
		Pending:   {Available, Sold},
	}
	orderSteps = map[OrderStatus][]OrderStatus{
		Placed:   {Approved, Cancelled},
		Approved: {Delivered, Cancelled},
	}
)

// CheckStep returns a *TransitionError if an animal cannot go from s to that status. Keeping its
// status is allowed.
func (s Status) CheckStep(to Status) error { return checkStep("animal", petSteps, s, to) }

// CheckStep returns a *TransitionError if an order cannot go from s to that status. Keeping its
// status is allowed.
func (s OrderStatus) CheckStep(to OrderStatus) error { return checkStep("order", orderSteps, s, to) }

func checkStep[S ~string](item string, steps map[S][]S, from, to S) error {
	if from == to || slices.Contains(steps[from], to) {
		return nil
	}
	e := &TransitionError{Item: item, From: string(from), To: string(to)}
	for _, s := range steps[from] {
		e.Allowed = append(e.Allowed, string(s))
	}
	return e
}

// PetStatus returns the status of an order's animal when the order becomes s.
func (s OrderStatus) PetStatus() Status {
	switch s {
	case Delivered:
		return Sold
	case Cancelled:
		return Available
	default:
		return Pending
	}
}
