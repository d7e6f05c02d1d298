package plans

import (
	"cmp"
	"slices"
	"time"
)

// inForce is the plan, numbers and generation in force for a tenant.
type inForce struct {
	plan       string
	own        *Quota
	generation int
}

// temporary is a temporary assignment that has not ended. under is what was in force before it.
// under is in force again after it, unless the assignment names another plan.
type temporary struct {
	Assignment
	under inForce
}

// derivation goes through a tenant's assignments in order of time.
type derivation struct {
	generation func(plan string, at time.Time) int
	timeline   []Assignment
	current    inForce
	// open are the temporary assignments that have not ended, the innermost last.
	open []temporary
}

// derive returns the timeline of the assignments. Begun assignments are unchanged. What is in force
// around the others determines the plan of a boost, and the End of a temporary assignment.
func derive(assignments []Assignment, generation func(plan string, at time.Time) int, now time.Time) []Assignment {
	d := derivation{generation: generation}
	var coming []Assignment
	for _, a := range assignments {
		switch {
		case a.ID != 0 && !a.From.After(now):
			d.replay(a)
		case a.Kind != End:
			coming = append(coming, a)
		}
	}
	slices.SortFunc(coming, func(a, b Assignment) int { return a.From.Compare(b.From) })
	for _, a := range coming {
		d.endUntil(a.From)
		if a.Kind == Boost {
			a = d.bound(a)
		}
		d.begin(a)
	}
	for n := d.first(); n >= 0; n = d.first() {
		d.endUntil(d.open[n].Until.Add(1))
	}
	return d.timeline
}

// replay adds an assignment that has begun, unchanged.
func (d *derivation) replay(a Assignment) {
	d.open = slices.DeleteFunc(d.open, func(t temporary) bool { return t.Until.Before(a.From) })
	d.endUntil(a.From)
	if a.Kind != End {
		d.begin(a)
		return
	}
	d.current = d.bindings(a)
	d.timeline = append(d.timeline, a)
}

// bound fills in the boost from what it interrupts: the plan, and numbers that it does not name.
// The ID of a stored boost that changes becomes negative.
func (d *derivation) bound(boost Assignment) Assignment {
	b := boost
	if b.Named == (Quota{}) {
		b.Named = *b.Own
	}
	b.Plan, b.Generation, b.Own = d.current.plan, d.current.generation, completed(b.Named, d.current.own)
	if !sameInForce(b, boost) {
		b.ID = -b.ID
	}
	return b
}

// begin adds an assignment. An assignment that is not temporary ends all temporary ones.
func (d *derivation) begin(a Assignment) {
	if a.Temporary() {
		d.open = append(d.open, temporary{a, d.current})
	} else {
		d.open = nil
	}
	d.current = d.bindings(a)
	d.timeline = append(d.timeline, a)
}

// endUntil ends the temporary assignments that end by the instant. An assignment that begins at the
// same time as an End replaces it.
func (d *derivation) endUntil(instant time.Time) {
	for n := d.first(); n >= 0 && !d.open[n].Until.After(instant); {
		at, ended := d.open[n].Until, false
		var end Assignment
		for ; n >= 0 && d.open[n].Until.Equal(at); n = d.first() {
			follows := d.open[n].follows()
			d.open = slices.Delete(d.open, n, n+1)
			if n < len(d.open) {
				// Another assignment began within this one, and ends later.
				d.open[n].under = d.bindings(follows)
				continue
			}
			end, ended, d.current = follows, true, d.bindings(follows)
		}
		if ended && at.Before(instant) {
			d.timeline = append(d.timeline, end)
		}
	}
}

// first returns the index of the temporary assignment that ends first, the innermost of several; -1
// for none.
func (d *derivation) first() int {
	first := len(d.open) - 1
	for n := first - 1; n >= 0; n-- {
		if d.open[n].Until.Before(d.open[first].Until) {
			first = n
		}
	}
	return first
}

// follows returns the assignment that follows when t ends.
func (t temporary) follows() Assignment {
	end := Assignment{From: t.Until, Kind: End, Ends: t.ID}
	if t.Then != "" && t.Then != t.under.plan {
		end.Plan = t.Then
	} else {
		end.Plan, end.Own, end.Generation = t.under.plan, t.under.own, t.under.generation
	}
	return end
}

func (d *derivation) bindings(a Assignment) inForce {
	b := inForce{a.Plan, a.Own, a.Generation}
	if b.generation == 0 {
		b.generation = d.generation(a.Plan, a.From)
	}
	return b
}

// completed returns the numbers of a boost. A number that is not named stays as it was before: the
// tenant's own, or 0 for the plan's.
func completed(named Quota, before *Quota) *Quota {
	if before == nil {
		return &named
	}
	return &Quota{
		PerMinute: cmp.Or(named.PerMinute, before.PerMinute),
		PerDay:    cmp.Or(named.PerDay, before.PerDay),
		Month:     named.Month.Over(before.Month),
	}
}
