package plans

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// UnscheduleMargin is how long before its beginning an assignment must be removed, so that all
// servers forget it before it begins.
const UnscheduleMargin = 2 * time.Second

// Errors of operations on timelines. Compare with errors.Is.
var (
	// ErrAssignmentNotFound: there is no assignment with the ID.
	ErrAssignmentNotFound = errors.New("no such assignment")
	// ErrAssignmentBegun: the assignment to remove has begun.
	ErrAssignmentBegun = errors.New("the assignment has begun")
	// ErrAssignmentBegins: the assignment to remove begins within UnscheduleMargin.
	ErrAssignmentBegins = errors.New("the assignment begins at this moment")
	// ErrAssignmentNotBegun: the assignment to mark void has not begun.
	ErrAssignmentNotBegun = errors.New("the assignment has not begun")
	// ErrAssignmentVoid and ErrAssignmentNotVoid: the assignment is already marked void, or is not.
	ErrAssignmentVoid    = errors.New("the assignment is void")
	ErrAssignmentNotVoid = errors.New("the assignment is not void")
	// ErrQuota: the numbers of an assignment are wrong.
	ErrQuota = errors.New("invalid quota")
	// ErrThenQuota: the plan that would follow a temporary assignment has no numbers of its own,
	// and the tenant has none for it.
	ErrThenQuota = errors.New("the plan that follows requires a quota for the tenant")
	// ErrInPast: the instant at which an assignment would begin is past.
	ErrInPast = errors.New("an assignment can't begin in the past")
	// ErrNoTime: a temporary assignment would end before it begins.
	ErrNoTime = errors.New("an assignment must end after it begins")
)

// ConflictError is returned if the scheduled assignment With is in the way of a new one.
type ConflictError struct{ With Assignment }

// Error implements error.
func (e ConflictError) Error() string {
	return fmt.Sprintf("assignment %d begins at %s", e.With.ID, e.With.From.UTC().Format(time.RFC3339Nano))
}

// PlanError is an error about a plan.
type PlanError struct {
	Plan string
	Err  error
}

// Error implements error.
func (e PlanError) Error() string { return "plan " + e.Plan + ": " + e.Err.Error() }

// Unwrap returns the error.
func (e PlanError) Unwrap() error { return e.Err }

// Temporary reports whether the assignment ends by itself.
func (a Assignment) Temporary() bool { return !a.Until.IsZero() }

// Timeline is a tenant's assignments in order of time, each in force until the next one begins: it
// has no gaps and no overlaps.
//
// Temporary assignments that have not ended are nested. An assignment without an end ends all of
// them: their ends leave the timeline, and come back if that assignment is removed before it
// begins. The plan of a boost, and what follows a temporary assignment, are derived from what is in
// force around them, so they change with it until they have begun. Assignments that have begun
// never change.
type Timeline struct {
	Assignments []Assignment
	// Generation returns the latest generation of a plan at an instant.
	Generation func(plan string, at time.Time) int
}

// Change is the effect of an operation on a timeline.
type Change struct {
	After Timeline
	// Removed has the assignments that leave the timeline. Added has the new ones, which are not
	// stored yet: the ID of each is 0, or the negative ID of the removed assignment that it
	// replaces. Ends refers to them by these numbers.
	Removed, Added []Assignment
	// Lasts is the temporary assignment that no longer ends by itself, nil for none.
	Lasts *Assignment
}

// Empty reports whether nothing changes.
func (c Change) Empty() bool { return len(c.Removed) == 0 && len(c.Added) == 0 && c.Lasts == nil }

// At returns the assignment in force at the instant; false before the first one.
func (t Timeline) At(at time.Time) (Assignment, bool) {
	n := t.begun(at)
	if n == 0 {
		return Assignment{}, false
	}
	return t.Assignments[n-1], true
}

// Coming returns the assignments that begin after the instant.
func (t Timeline) Coming(at time.Time) []Assignment { return t.Assignments[t.begun(at):] }

// begun returns the number of assignments that have begun at the instant.
func (t Timeline) begun(at time.Time) int {
	n := slices.IndexFunc(t.Assignments, func(a Assignment) bool { return a.From.After(at) })
	if n < 0 {
		return len(t.Assignments)
	}
	return n
}

// Assign adds an assignment or a boost, temporary or not. It returns ErrInPast, ErrNoTime, or a
// ConflictError: two assignments can't begin at the same instant, and none may begin within an
// added temporary one.
func (t Timeline) Assign(a Assignment, now time.Time) (Change, error) {
	last, ok := t.At(now)
	switch {
	case !ok || a.From.Before(now) || !a.From.After(last.From):
		return Change{}, ErrInPast
	case a.Temporary() && !a.Until.After(a.From):
		return Change{}, ErrNoTime
	}
	for _, other := range t.Coming(now) {
		sameInstant := other.From.Equal(a.From) && other.Kind != End
		within := other.From.After(a.From) && other.From.Before(a.Until)
		if sameInstant || within {
			return Change{}, ConflictError{other}
		}
	}
	return t.change(append(slices.Clone(t.Assignments), a), now)
}

// Begin returns the first assignments of a new tenant. It returns ErrNoTime for a trial whose end
// is not after its beginning, or that no plan follows.
func Begin(first Assignment) (Change, error) {
	if first.Temporary() && (!first.Until.After(first.From) || first.Then == "") {
		return Change{}, ErrNoTime
	}
	latest := func(string, time.Time) int { return 0 }
	added := derive([]Assignment{first}, latest, first.From)
	return Change{After: Timeline{added, latest}, Added: added}, nil
}

// Unschedule removes an assignment that has not begun. A temporary one is removed with its end, and
// the timeline is as if it had never been. If an end is removed, the temporary assignment lasts, or
// ends with the one around it. It returns ErrAssignmentNotFound, ErrAssignmentBegun or
// ErrAssignmentBegins.
func (t Timeline) Unschedule(id int64, now time.Time) (Change, error) {
	i := slices.IndexFunc(t.Assignments, func(a Assignment) bool { return a.ID == id })
	switch {
	case i < 0:
		return Change{}, ErrAssignmentNotFound
	case i == 0 || !t.Assignments[i].From.After(now):
		return Change{}, ErrAssignmentBegun
	}
	rest, removed := slices.Clone(t.Assignments), t.Assignments[i]
	if removed.Kind != End {
		return t.change(slices.Delete(rest, i, i+1), now)
	}
	if i = slices.IndexFunc(rest, func(a Assignment) bool { return a.ID == removed.Ends }); i < 0 {
		return Change{}, ErrAssignmentNotFound
	}
	rest[i].Until, rest[i].Then = t.endAround(i), ""
	c, err := t.change(rest, now)
	c.Lasts = &rest[i]
	return c, err
}

// endAround returns the end of the innermost temporary assignment around another, zero for none.
func (t Timeline) endAround(inner int) time.Time {
	for i := inner - 1; i >= 0 && (t.Assignments[i+1].Temporary() || t.Assignments[i+1].Kind == End); i-- {
		if a := t.Assignments[i]; a.Temporary() && a.Until.After(t.Assignments[inner].Until) {
			return a.Until
		}
	}
	return time.Time{}
}

// change derives the timeline from the assignments, and compares it with the present one. It
// returns ErrAssignmentBegins if the change would remove an assignment that begins within
// UnscheduleMargin.
func (t Timeline) change(from []Assignment, now time.Time) (Change, error) {
	after := Timeline{derive(from, t.Generation, now), t.Generation}
	c := Change{After: after}
	for i, a := range after.Assignments {
		// An end that does not change keeps its ID.
		same := slices.IndexFunc(t.Assignments, func(b Assignment) bool { return a.Kind == End && sameInForce(a, b) })
		if same >= 0 {
			after.Assignments[i].ID = t.Assignments[same].ID
		}
	}
	for _, b := range t.Coming(now) {
		if !slices.ContainsFunc(
			after.Assignments,
			func(a Assignment) bool { return a.ID == b.ID && sameInForce(a, b) },
		) {
			c.Removed = append(c.Removed, b)
			if b.From.Before(now.Add(UnscheduleMargin)) {
				return Change{}, fmt.Errorf("assignment %d: %w", b.ID, ErrAssignmentBegins)
			}
		}
	}
	for _, a := range after.Coming(now.Add(-1)) {
		if !slices.ContainsFunc(t.Assignments, func(b Assignment) bool { return a.ID == b.ID && sameInForce(a, b) }) {
			c.Added = append(c.Added, a)
		}
	}
	return c, nil
}

// sameInForce reports whether two assignments have the same effect while they are in force. It does
// not compare their planned ends.
func sameInForce(a, b Assignment) bool {
	return a.From.Equal(b.From) && a.Kind == b.Kind && a.Plan == b.Plan && SameQuota(a.Own, b.Own) &&
		a.Generation == b.Generation &&
		a.Ends == b.Ends
}

// SameQuota reports whether two assignments have the same numbers of their own, or none.
func SameQuota(a, b *Quota) bool { return a == b || a != nil && b != nil && *a == *b }
