package plans

import (
	"errors"
	"slices"
	"time"
)

// ErrNothingToUndo: what an assignment changed is over, so taking it back would change nothing.
var ErrNothingToUndo = errors.New("its end has passed: nothing is in force any more")

// TakeBack makes the timeline from now on what it would be without the latest change of it: an
// assignment or boost, or those by which an undo took one back. It has begun, and stays as the past
// does: what would be in force without it is assigned from now on, and each temporary assignment
// that would not have ended begins a microsecond after the one around it. It returns
// ErrAssignmentNotFound, ErrAssignmentBegun for a tenant's first one, ErrNothingToUndo, or
// ErrAssignmentBegins.
func (t Timeline) TakeBack(ids []int64, now time.Time) (Change, error) {
	first := slices.IndexFunc(t.Assignments, func(a Assignment) bool { return slices.Contains(ids, a.ID) })
	switch {
	case first < 0:
		return Change{}, ErrAssignmentNotFound
	case first == 0:
		return Change{}, ErrAssignmentBegun
	}
	wanted := t.standing(ids, now)
	same := func(a, b Assignment) bool { return sameInForce(a, b) && a.Until.Equal(b.Until) && a.Then == b.Then }
	if slices.EqualFunc(wanted, t.standing(nil, now), same) {
		return Change{}, ErrNothingToUndo
	}
	return t.change(slices.Concat(t.Assignments, wanted), now)
}

// SetEnd restores the end of an assignment whose end was removed. The assignment ends at until; the
// plan then follows. It returns ErrAssignmentNotFound, ErrInPast, or a ConflictError.
func (t Timeline) SetEnd(id int64, until time.Time, then string, now time.Time) (Change, error) {
	rest := slices.Clone(t.Assignments)
	i := slices.IndexFunc(rest, func(a Assignment) bool { return a.ID == id })
	switch {
	case i < 0:
		return Change{}, ErrAssignmentNotFound
	case !until.After(now):
		return Change{}, ErrInPast
	}
	rest[i].Until, rest[i].Then = until, then
	c, err := t.change(rest, now)
	c.Lasts = &rest[i]
	return c, err
}

// standing returns the assignments that make what is in force at the instant, and the temporary
// assignments that have not ended, without the assignments with these IDs. What began before the
// first of these is taken as it was; what came after it is derived anew.
func (t Timeline) standing(without []int64, at time.Time) []Assignment {
	d := derivation{generation: t.Generation}
	derived := false
	for _, a := range t.Assignments[:t.begun(at)] {
		switch {
		case slices.Contains(without, a.ID):
			derived = true
		case !derived:
			d.replay(a)
		case a.Kind != End:
			d.endUntil(a.From)
			if a.Kind == Boost {
				a = d.bound(a)
			}
			d.begin(a)
		}
	}
	d.endUntil(at)

	all := []Assignment{{}}
	top := d.current
	if len(d.open) > 0 {
		top = d.open[0].under
	}
	all[0].bind(top)
	for _, open := range d.open {
		a := open.Assignment
		top = d.bindings(a)
		a.ID, a.Ends, a.To = 0, 0, time.Time{}
		if a.Kind == Assigned {
			a.bind(top)
		}
		all = append(all, a)
	}
	if !top.same(d.current) {
		// What followed a temporary assignment within the innermost one, with which it ends.
		a := Assignment{Until: d.open[len(d.open)-1].Until}
		a.bind(d.current)
		all = append(all, a)
	}
	for i := range all {
		all[i].From = at.Add(time.Duration(i) * time.Microsecond)
		if all[i].Kind == Assigned && all[i].Generation == t.Generation(all[i].Plan, at) {
			all[i].Generation = 0
		}
	}
	return all
}

// bind makes an assignment of what is in force.
func (a *Assignment) bind(b inForce) {
	a.Kind, a.Plan, a.Own, a.Generation = Assigned, b.plan, b.own, b.generation
}

func (b inForce) same(other inForce) bool {
	return b.plan == other.plan && b.generation == other.generation && SameQuota(b.own, other.own)
}
