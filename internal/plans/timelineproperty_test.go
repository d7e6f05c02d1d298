package plans

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/assert"
)

// TestTimelineProperties makes random changes while time passes. After each: one assignment at each
// instant and the one that the rules say, with numbers that nobody named but those who are below
// it; what has begun is unchanged; a change that is unscheduled leaves the timeline as if it had
// never been.
func TestTimelineProperties(t *testing.T) {
	t.Parallel()
	made, refused := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		line, next, now := newTimeline(Free), int64(1), testDay(1)
		named := map[time.Time]Quota{}
		for range 40 {
			now = now.Add(time.Duration(r.IntN(20)) * time.Hour)
			change, err := randomChange(r, line, now, named)
			if errors.As(err, &ConflictError{}) || errors.Is(err, ErrAssignmentBegins) ||
				errors.Is(err, ErrAssignmentBegun) ||
				errors.Is(err, ErrInPast) {
				refused++
				continue
			}
			assert.NoError(t, err)
			made++
			after := change.stored(&next)
			checkTimeline(t, after, named)
			checkBegun(t, line, after, now)
			checkChange(t, line, change)
			checkUnschedule(t, line, change, after, now, next)
			if t.Failed() {
				t.Fatalf("seed %d: at %v\n%s\n%s", seed, now.Sub(testDay(0)), show(line), show(after))
			}
			line = after
		}
	}
	if made < 3000 || refused < 1000 {
		t.Errorf("%d changes were made and %d refused", made, refused)
	}
}

// randomChange notes in named which numbers a boost was given.
func randomChange(r *rand.Rand, line Timeline, now time.Time, named map[time.Time]Quota) (Change, error) {
	names := []string{Free, Pro, Business, Enterprise}
	if r.IntN(4) == 0 {
		return line.Unschedule(line.Assignments[r.IntN(len(line.Assignments))].ID, now)
	}
	a := Assignment{From: now, Kind: Assigned, Plan: names[r.IntN(4)]}
	if r.IntN(3) > 0 {
		a.From = now.Truncate(12 * time.Hour).Add(time.Duration(r.IntN(20)) * 12 * time.Hour)
	}
	if r.IntN(5) < 3 {
		a.Until = a.From.Truncate(12 * time.Hour).Add(time.Duration(r.IntN(10)) * 12 * time.Hour)
		if a.Then = names[r.IntN(3)]; r.IntN(2) == 0 {
			a.Then = ""
		}
		if r.IntN(2) == 0 {
			a.Kind, a.Plan, a.Then = Boost, "", ""
			a.Own = []*Quota{{PerMinute: 900 + r.Int64N(9)}, {PerDay: 500 + r.Int64N(900)},
				{PerMinute: 50, PerDay: 5000}, {}}[r.IntN(4)]
			if a.Own.Month = randomMonth(r); *a.Own == (Quota{}) {
				a.Own.PerMinute = 1
			}
		}
	}
	if a.Plan == Enterprise {
		own := Quota{PerMinute: 100 + r.Int64N(9), PerDay: 800 + r.Int64N(9), Month: randomMonth(r)}
		a.Own = own.Agreed()
	}
	change, err := line.Assign(a, now)
	if err == nil && a.Kind == Boost {
		named[a.From] = *a.Own
	}
	if errors.Is(err, ErrNoTime) {
		err = ErrInPast
	}
	return change, err
}

// randomMonth is of a change: a half, or both, may be as before.
func randomMonth(r *rand.Rand) Month {
	overages := []Overage{{}, {Kind: NoOverage}, {OverageNumber, 5}, {OverageShare, 20}, {Kind: OverageUnlimited}}
	m := Month{Overage: overages[r.IntN(len(overages))]}
	if m.Kind = MonthKind(r.IntN(3)); m.Kind == SomeMonth {
		m.Included = 1000 + r.Int64N(9)
	}
	if m.Kind == NoMonth {
		m.Overage = Overage{}
	}
	return m
}

func checkTimeline(t *testing.T, line Timeline, named map[time.Time]Quota) {
	t.Helper()
	for i, a := range line.Assignments {
		if i > 0 && !a.From.After(line.Assignments[i-1].From) {
			t.Errorf("two assignments at %v", a.From)
		}
		for _, at := range []time.Time{a.From.Add(-1), a.From, a.From.Add(1), a.From.Add(5 * time.Hour)} {
			got, ok := line.At(at)
			assert.True(t, ok != at.Before(testDay(0)), "in force at", at, ok)
			if !ok {
				continue
			}
			if want := expected(
				line,
				at,
				named,
			); want.plan != got.Plan || !SameQuota(want.own, got.Own) ||
				want.generation != generationIn(got) {
				t.Errorf("in force at day %g: %+v, want %+v", at.Sub(testDay(0)).Hours()/24, got, want)
			}
		}
	}
}

func generationIn(a Assignment) int {
	if a.Generation != 0 {
		return a.Generation
	}
	return generationOn(a.Plan, a.From)
}

// expected says what binds at an instant by the rules: the latest assignment that has begun does,
// unless it has ended by itself. Then the same holds without it, unless it says which plan follows.
func expected(line Timeline, at time.Time, named map[time.Time]Quota) inForce {
	var begun []Assignment
	for _, a := range line.Assignments {
		if a.Kind != End && !a.From.After(at) {
			begun = append(begun, a)
		}
	}
	return expectedOf(begun, at, named)
}

func expectedOf(begun []Assignment, at time.Time, named map[time.Time]Quota) inForce {
	last, rest := begun[len(begun)-1], begun[:len(begun)-1]
	switch {
	case !last.Temporary() && last.Kind == Assigned:
		return inForce{last.Plan, last.Own, generationOn(last.Plan, last.From)}
	case !last.Temporary() || at.Before(last.Until):
		if last.Kind == Assigned {
			return inForce{last.Plan, last.Own, generationOn(last.Plan, last.From)}
		}
		under, own := expectedOf(rest, last.From, named), named[last.From]
		if own.PerMinute == 0 && under.own != nil {
			own.PerMinute = under.own.PerMinute
		}
		if own.PerDay == 0 && under.own != nil {
			own.PerDay = under.own.PerDay
		}
		if under.own != nil {
			own.Month = own.Month.Over(under.own.Month)
		}
		under.own = &own
		return under
	}
	follows := inForce{plan: last.Then}
	if under := expectedOf(rest, last.Until, named); last.Then == "" || last.Then == under.plan {
		return expectedOf(rest, at, named)
	}
	for i := len(rest) - 1; i >= 0 && rest[i].Temporary(); i-- {
		if around := rest[i]; !around.Until.Before(last.Until) && !around.Until.After(at) {
			return expectedOf(rest, at, named)
		}
	}
	follows.generation = generationOn(last.Then, last.Until)
	return follows
}

func checkBegun(t *testing.T, before, after Timeline, now time.Time) {
	t.Helper()
	n := before.begun(now)
	for i, a := range before.Assignments[:n] {
		if !sameInForce(a, after.Assignments[i]) || a.ID != after.Assignments[i].ID {
			t.Errorf("what has begun was changed: %s", cmp.Diff(a, after.Assignments[i]))
		}
	}
}

// checkChange: what is added has no ID yet, what is removed is in the timeline no longer, and no
// end comes back under another ID.
func checkChange(t *testing.T, before Timeline, c Change) {
	t.Helper()
	in := func(all []Assignment, id int64, a Assignment) bool {
		return slices.ContainsFunc(all, func(b Assignment) bool { return id == b.ID && sameInForce(a, b) })
	}
	for _, a := range c.After.Assignments {
		assert.Equal(t, in(c.Added, a.ID, a), a.ID <= 0, "added", a)
	}
	for _, b := range before.Assignments {
		assert.Equal(t, in(c.Removed, b.ID, b), !in(c.After.Assignments, b.ID, b), "removed", b)
		assert.True(t, b.Kind != End || !in(c.Added, 0, b), "removed and added", b)
	}
}

// checkUnschedule takes back what the change added.
func checkUnschedule(t *testing.T, before Timeline, change Change, after Timeline, now time.Time, next int64) {
	t.Helper()
	i := slices.IndexFunc(change.After.Assignments, func(a Assignment) bool { return a.ID == 0 && a.Kind != End })
	if i < 0 || change.After.Assignments[i].From.Before(now.Add(UnscheduleMargin)) {
		return
	}
	back, err := after.Unschedule(after.Assignments[i].ID, now)
	if err != nil {
		t.Error(err)
		return
	}
	assert.DeepEqual(t, show(back.stored(&next)), show(before), "unscheduled")
}
