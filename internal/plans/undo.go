package plans

import (
	"errors"
	"slices"
	"time"
)

// ErrNothingToUndo: the effect of the assignment is over, so taking it back would change nothing.
var ErrNothingToUndo = errors.New("its end has passed: nothing is in force any more")

// TakeBack changes the timeline from now on to what it would be without its latest change: an
// assignment or boost, or the assignments by which an undo took one back. The past stays. What
// would be in force without the change is assigned from now on. Temporary assignments that would
// not have ended begin again, each a microsecond after the one around it. It returns
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

// SetEnd restores the removed end of an assignment: it ends at until, and the plan named by then
// follows it. It returns ErrAssignmentNotFound, ErrInPast, or a ConflictError.
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

// standing returns the assignments that determine what is in force at the instant, and the
// temporary ones that have not ended. It leaves out the assignments with the IDs in without.
// Assignments before the first one left out are unchanged, later ones are derived again.
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
		// A temporary assignment within the innermost open one has ended. d.current followed it,
		// and ends with the open one.
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

// bind sets the plan, numbers and generation of the assignment to what is in force.
func (a *Assignment) bind(b inForce) {
	a.Kind, a.Plan, a.Own, a.Generation = Assigned, b.plan, b.own, b.generation
}

func (b inForce) same(other inForce) bool {
	return b.plan == other.plan && b.generation == other.generation && SameQuota(b.own, other.own)
}
