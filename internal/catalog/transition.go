package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalidTransition is what every TransitionError is.
var ErrInvalidTransition = errors.New("invalid transition")

// TransitionError is a step from one status to another that the rules forbid. Its text is fit for customers.
type TransitionError struct {
	From, To string
	// Allowed are the statuses that can follow From; none when it is final.
	Allowed []string
	// Held is set when it is an order, not From, that keeps the animal's status as it is.
	Held bool
}

func (e *TransitionError) Error() string {
	why := "only to " + strings.Join(e.Allowed, " or ")
	switch {
	case e.Held:
		why = "because an order holds the animal: deliver or cancel the order"
	case len(e.Allowed) == 0:
		why = "because " + e.From + " is final"
	}
	return fmt.Sprintf("status can't go from %s to %s, %s", e.From, e.To, why)
}

// Is makes it ErrInvalidTransition.
func (e *TransitionError) Is(target error) bool { return target == ErrInvalidTransition }

// The rules: which statuses can follow each.
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

// CheckStep returns a *TransitionError when an animal must not go from s to that status. To stay is allowed.
func (s Status) CheckStep(to Status) error { return checkStep(petSteps, s, to) }

// CheckStep returns a *TransitionError when an order must not go from s to that status. To stay is allowed.
func (s OrderStatus) CheckStep(to OrderStatus) error { return checkStep(orderSteps, s, to) }

func checkStep[S ~string](steps map[S][]S, from, to S) error {
	if from == to || slices.Contains(steps[from], to) {
		return nil
	}
	e := &TransitionError{From: string(from), To: string(to)}
	for _, s := range steps[from] {
		e.Allowed = append(e.Allowed, string(s))
	}
	return e
}

// PetStatus returns the status that an order's coming to s gives its animal.
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
