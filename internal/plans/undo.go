package plans

import (
	"errors"
	"slices"
	"time"
)

// ErrNothingToUndo: what an assignment changed is over, so taking it back would change nothing.
var ErrNothingToUndo = errors.New("it is over: nothing of it is in force")

// TakeBack makes the timeline from now on what it would be without an assignment or boost, which ids names together with those that an
// undo made in its place. One that has not begun is removed. One that has begun stays, as the past does: what would be in force without it
// is assigned from now on, and each temporary assignment that would not have ended begins a microsecond after the one around it. gone are
// assignments that an undo has taken back, and those that it made in their place. It returns ErrAssignmentNotFound, ErrAssignmentBegun
// for a tenant's first one, ErrNothingToUndo, or ErrAssignmentBegins.
func (t Timeline) TakeBack(ids, gone []int64, now time.Time) (Change, error) {
	first := slices.IndexFunc(t.Assignments, func(a Assignment) bool { return slices.Contains(ids, a.ID) })
	switch {
	case first < 0:
		return Change{}, ErrAssignmentNotFound
	case first == 0:
		return Change{}, ErrAssignmentBegun
	case t.Assignments[first].From.After(now):
		return t.Unschedule(t.Assignments[first].ID, now)
	}
	wanted := t.standing(slices.Concat(ids, gone), now)
	if present := t.standing(nil, now); sameStanding(wanted, present) {
		return Change{}, ErrNothingToUndo
	}
	return t.change(slices.Concat(t.Assignments, wanted.stack(t, now)), now)
}

// SetEnd lets an assignment end by itself again, of which the end was removed. The instant is that of its end, then the plan that follows.
// It returns ErrAssignmentNotFound, ErrInPast, or a ConflictError.
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

// standing is what is in force at the instant, and the temporary assignments that have not ended, without the assignments with these IDs.
// What began before the first of these is taken as it was; what came after it is derived anew.
func (t Timeline) standing(without []int64, at time.Time) derivation {
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
	return d
}

// stack returns the assignments that make what stands stand from the instant on.
func (d derivation) stack(t Timeline, at time.Time) []Assignment {
	top := d.base()
	all := []Assignment{{Kind: Assigned, Plan: top.plan, Own: top.own, Generation: t.unlessLatest(top, at)}}
	for _, open := range d.open {
		a := open.Assignment
		top = d.bindings(a)
		a.ID, a.Ends, a.To = 0, 0, time.Time{}
		if a.Kind == Assigned {
			a.Generation = t.unlessLatest(top, at)
		}
		all = append(all, a)
	}
	if !sameBindings(top, d.current) {
		// What followed a temporary assignment within the innermost one, with which it ends.
		a := Assignment{Kind: Assigned, Plan: d.current.plan, Own: d.current.own, Generation: t.unlessLatest(d.current, at)}
		a.Until = d.open[len(d.open)-1].Until
		all = append(all, a)
	}
	for i := range all {
		all[i].From = at.Add(time.Duration(i) * time.Microsecond)
	}
	return all
}

// base is what is in force when all temporary assignments have ended.
func (d derivation) base() inForce {
	if len(d.open) > 0 {
		return d.open[0].under
	}
	return d.current
}

func sameStanding(a, b derivation) bool {
	return sameBindings(a.base(), b.base()) && sameBindings(a.current, b.current) && slices.EqualFunc(a.open, b.open, func(x, y temporary) bool {
		return x.Kind == y.Kind && x.Plan == y.Plan && SameQuota(x.Own, y.Own) && x.Until.Equal(y.Until) && x.Then == y.Then
	})
}

func sameBindings(a, b inForce) bool {
	return a.plan == b.plan && a.generation == b.generation && SameQuota(a.own, b.own)
}

// unlessLatest is the generation to name in an assignment: 0 if it is the plan's latest at the instant.
func (t Timeline) unlessLatest(b inForce, at time.Time) int {
	if b.generation == t.Generation(b.plan, at) {
		return 0
	}
	return b.generation
}
