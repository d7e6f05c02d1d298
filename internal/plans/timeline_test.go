package plans

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// Days are counted from the day on which the tenant was created.
func testDay(n float64) time.Time {
	return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n * float64(24*time.Hour)))
}

// generationOn: from the day 20 on pro is sold in its second generation.
func generationOn(plan string, at time.Time) int {
	if plan == Pro && !at.Before(testDay(20)) {
		return 2
	}
	return 1
}

// newTimeline is that of a tenant which was created on a plan.
func newTimeline(plan string) Timeline {
	return Timeline{[]Assignment{{ID: 1, From: testDay(0), Kind: Assigned, Plan: plan}}, generationOn}
}

// stored returns the timeline after a change, with the IDs that a store gives: the numbers from
// next on.
func (c Change) stored(next *int64) Timeline {
	after := Timeline{slices.Clone(c.After.Assignments), c.After.Generation}
	ids := map[int64]int64{}
	for i, a := range after.Assignments {
		if id, ok := ids[a.Ends]; ok && a.Kind == End {
			after.Assignments[i].Ends = id
		}
		if a.ID <= 0 {
			*next++
			after.Assignments[i].ID = *next
		}
		if a.ID <= 0 && a.Kind != End {
			ids[a.ID] = *next
		}
	}
	return after
}

func show(t Timeline) string {
	var out strings.Builder
	for _, a := range t.Assignments {
		fmt.Fprintf(&out, "%g %s", a.From.Sub(testDay(0)).Hours()/24, a.Plan)
		if a.Generation != 0 {
			fmt.Fprintf(&out, ".%d", a.Generation)
		}
		if a.Own != nil {
			fmt.Fprintf(&out, " %d/%d", a.Own.PerMinute, a.Own.PerDay)
		}
		if a.Kind != Assigned {
			fmt.Fprintf(&out, " %s", a.Kind)
		}
		out.WriteString("; ")
	}
	return strings.TrimSuffix(out.String(), "; ")
}

func lasting(from float64, plan string) Assignment {
	return Assignment{From: testDay(from), Kind: Assigned, Plan: plan}
}

func until(from, to float64, plan, then string) Assignment {
	return Assignment{From: testDay(from), Kind: Assigned, Plan: plan, Until: testDay(to), Then: then}
}

func boost(from, to float64, perMinute int64) Assignment {
	return Assignment{From: testDay(from), Kind: Boost, Own: &Quota{PerMinute: perMinute}, Until: testDay(to)}
}

func TestAssign(t *testing.T) {
	t.Parallel()
	agreed := lasting(12, Enterprise)
	agreed.Own = &Quota{PerMinute: 12345, PerDay: 500_000}
	for _, c := range []struct {
		name string
		now  float64
		do   []Assignment
		want string
	}{
		{"now", 5, []Assignment{lasting(5, Pro)}, "0 free; 5 pro"},
		{"later", 5, []Assignment{lasting(9, Pro)}, "0 free; 9 pro"},
		{"before another one", 5, []Assignment{lasting(9, Business), lasting(7, Pro)}, "0 free; 7 pro; 9 business"},
		{"back to what was before", 5, []Assignment{until(6, 8, Business, "")}, "0 free; 6 business; 8 free.1 end"},
		{"another plan then", 5, []Assignment{until(6, 8, Business, Pro)}, "0 free; 6 business; 8 pro end"},
		{"a boost", 5, []Assignment{boost(5, 7, 900)}, "0 free; 5 free.1 900/0 boost; 7 free.1 end"},
		{
			"a boost within a boost", 5, []Assignment{boost(5, 9, 2000), boost(6, 8, 3000)},
			"0 free; 5 free.1 2000/0 boost; 6 free.1 3000/0 boost; 8 free.1 2000/0 end; 9 free.1 end",
		},
		{"bought before a boost of other numbers", 12,
			[]Assignment{agreed, boost(14, 15, 900), lasting(13, Business)},
			"0 free; 12 enterprise 12345/500000; 13 business; 14 business.1 900/0 boost; 15 business.1 end"},
		{"bought during a trial", 5, []Assignment{until(5, 9, Pro, Free), lasting(6, Business)},
			"0 free; 5 pro; 6 business"},
		{"bought when the trial ends", 5, []Assignment{until(5, 9, Pro, Free), lasting(9, Business)},
			"0 free; 5 pro; 9 business"},
		{"the same plan bought during a trial", 5, []Assignment{until(5, 9, Pro, Free), lasting(6, Pro)},
			"0 free; 5 pro; 6 pro"},
		{
			"a boost during a trial", 5, []Assignment{until(5, 9, Pro, Free), boost(6, 7, 900)},
			"0 free; 5 pro; 6 pro.1 900/0 boost; 7 pro.1 end; 9 free.1 end",
		},
		{"a boost to the end of a trial", 5, []Assignment{until(5, 9, Pro, Free), boost(6, 9, 900)},
			"0 free; 5 pro; 6 pro.1 900/0 boost; 9 free.1 end"},
		{"bought during a boost during a trial", 5,
			[]Assignment{until(5, 9, Pro, Free), boost(6, 8, 900), lasting(7, Business)},
			"0 free; 5 pro; 6 pro.1 900/0 boost; 7 business"},
		{"bought after a boost during a trial", 5,
			[]Assignment{until(5, 9, Pro, Free), boost(6, 7, 900), lasting(8, Business)},
			"0 free; 5 pro; 6 pro.1 900/0 boost; 7 pro.1 end; 8 business"},
		{"bought before a boost", 5, []Assignment{boost(7, 8, 900), lasting(6, Business)},
			"0 free; 6 business; 7 business.1 900/0 boost; 8 business.1 end"},
		{"one temporary after another", 5, []Assignment{until(5, 7, Pro, ""), until(7, 9, Business, "")},
			"0 free; 5 pro; 7 business; 9 free.1 end"},
		{"one temporary before another", 5, []Assignment{until(7, 9, Business, ""), until(5, 7, Pro, "")},
			"0 free; 5 pro; 7 business; 9 free.1 end"},
		{"a temporary one up to another plan", 5, []Assignment{lasting(9, Business), until(5, 9, Pro, "")},
			"0 free; 5 pro; 9 business"},
		{
			"numbers of one's own come back", 12, []Assignment{agreed, boost(13, 14, 20_000)},
			"0 free; 12 enterprise 12345/500000; 13 enterprise.1 20000/500000 boost; 14 enterprise.1 12345/500000 end",
		},
		{
			"the generation comes back", 12, []Assignment{lasting(12, Pro), until(22, 24, Business, "")},
			"0 free; 12 pro; 22 business; 24 pro.1 end",
		},
		{"a plan that follows is as it is sold then", 12,
			[]Assignment{until(12, 24, Business, Pro), boost(26, 27, 900)},
			"0 free; 12 business; 24 pro end; 26 pro.2 900/0 boost; 27 pro.2 end"},
	} {
		line, next := newTimeline(Free), int64(1)
		for _, a := range c.do {
			change, err := line.Assign(a, testDay(c.now))
			assert.True(t, err == nil, c.name, err)
			line = change.stored(&next)
		}
		assert.Equal(t, show(line), c.want, c.name)
	}
}

func TestAssignRefuses(t *testing.T) {
	t.Parallel()
	line, next := newTimeline(Free), int64(1)
	for _, a := range []Assignment{lasting(10, Pro), until(12, 14, Business, "")} {
		change, err := line.Assign(a, testDay(5))
		assert.NoError(t, err)
		line = change.stored(&next)
	}
	for _, c := range []struct {
		name string
		a    Assignment
		err  error
		with int64
	}{
		{"in the past", lasting(4, Pro), ErrInPast, 0},
		{"before the tenant", lasting(-1, Pro), ErrInPast, 0},
		{"no time", until(6, 6, Pro, ""), ErrNoTime, 0},
		{"ends before it begins", until(6, 5.5, Pro, ""), ErrNoTime, 0},
		{"at the same instant", lasting(10, Business), nil, 2},
		{"temporary at the same instant", until(12, 13, Business, ""), nil, 3},
		{"another begins within it", until(9, 11, Business, ""), nil, 2},
		{"another ends within it", boost(13, 15, 900), nil, 4},
		{"another one whole within it", until(11, 16, Business, ""), nil, 3},
	} {
		change, err := line.Assign(c.a, testDay(5))
		var conflict ConflictError
		if c.with != 0 && (!errors.As(err, &conflict) || conflict.With.ID != c.with) ||
			c.with == 0 && !errors.Is(err, c.err) ||
			!change.Empty() {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestUnschedule(t *testing.T) {
	t.Parallel()
	base, next := newTimeline(Free), int64(1)
	for _, a := range []Assignment{until(5, 9, Pro, ""), boost(6, 8, 900), until(10, 12, Business, Pro)} {
		change, err := base.Assign(a, testDay(5))
		assert.NoError(t, err)
		base = change.stored(&next)
	}
	const all = "0 free; 5 pro; 6 pro.1 900/0 boost; 8 pro.1 end; 9 free.1 end; 10 business; 12 pro end"
	if got := show(base); got != all {
		t.Fatalf("%s, want %s", got, all)
	}
	ids := map[float64]int64{}
	for _, a := range base.Assignments {
		ids[a.From.Sub(testDay(0)).Hours()/24] = a.ID
	}
	for _, c := range []struct {
		name  string
		of    int64
		want  string
		lasts int64
		err   error
	}{
		{"a boost", ids[6], "0 free; 5 pro; 9 free.1 end; 10 business; 12 pro end", 0, nil},
		{"the end of a boost within a trial", ids[8],
			"0 free; 5 pro; 6 pro.1 900/0 boost; 9 free.1 end; 10 business; 12 pro end", ids[6], nil},
		{"the end of one that has begun", ids[9],
			"0 free; 5 pro; 6 pro.1 900/0 boost; 8 pro.1 end; 10 business; 12 pro.1 end", ids[5], nil},
		{"a temporary one", ids[10], "0 free; 5 pro; 6 pro.1 900/0 boost; 8 pro.1 end; 9 free.1 end", 0, nil},
		{"its end", ids[12], "0 free; 5 pro; 6 pro.1 900/0 boost; 8 pro.1 end; 9 free.1 end; 10 business", ids[10],
			nil},
		{"one that has begun", ids[5], all, 0, ErrAssignmentBegun},
		{"the first", 1, all, 0, ErrAssignmentBegun},
		{"nobody's", 99, all, 0, ErrAssignmentNotFound},
	} {
		change, err := base.Unschedule(c.of, testDay(5))
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		} else if err != nil {
			continue
		}
		if got := show(change.After); got != c.want || (change.Lasts == nil) != (c.lasts == 0) ||
			change.Lasts != nil && change.Lasts.ID != c.lasts {
			t.Errorf("%s: %s, %+v, want %s", c.name, got, change.Lasts, c.want)
		}
	}
}

// TestUnscheduleAnEndOfATrial: without its end a temporary assignment ends with the one around it,
// if that has not been ended. The end of the first one is restored as that of any other.
func TestUnscheduleAnEndOfATrial(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		made []Assignment
		end  float64
		want string
	}{
		"after a boost within it": {[]Assignment{boost(4, 5, 900), boost(6, 8, 900)}, 8,
			"0 pro; 4 pro.1 900/0 boost; 5 pro.1 end; 6 pro.1 900/0 boost; 9 free end"},
		"ended by what was bought": {[]Assignment{lasting(5, Business), boost(6, 8, 900)}, 8,
			"0 pro; 5 business; 6 business.1 900/0 boost"},
		"its own": {nil, 9, "0 pro"},
	} {
		change, err := Begin(until(0, 9, Pro, Free))
		assert.NoError(t, err)
		next := int64(0)
		line := change.stored(&next)
		line.Generation = generationOn
		for _, a := range c.made {
			change, err = line.Assign(a, testDay(1))
			assert.NoError(t, err)
			line = change.stored(&next)
		}
		before := show(line)
		end := slices.IndexFunc(line.Assignments, func(a Assignment) bool { return a.From.Equal(testDay(c.end)) })
		change, err = line.Unschedule(line.Assignments[end].ID, testDay(1))
		assert.NoError(t, err, name)
		assert.Equal(t, show(change.After), c.want, name)
		if name == "its own" {
			change, err = change.stored(&next).SetEnd(line.Assignments[0].ID, testDay(9), Free, testDay(1))
			assert.NoError(t, err, name)
			assert.Equal(t, show(change.After), before, name, "restored")
		}
	}
}

func TestNothingIsRemovedThatBeginsAtThisMoment(t *testing.T) {
	t.Parallel()
	next := int64(1)
	change, err := newTimeline(Free).Assign(until(5, 9, Pro, Free), testDay(5))
	assert.NoError(t, err)
	line := change.stored(&next)
	end := line.Assignments[2]
	for before, want := range map[time.Duration]error{UnscheduleMargin: nil,
		UnscheduleMargin - 1: ErrAssignmentBegins, 1: ErrAssignmentBegins, 0: ErrAssignmentBegun} {
		_, err := line.Unschedule(end.ID, end.From.Add(-before))
		assert.ErrorIs(t, err, want, "unschedule", before, "before")
	}
	bought := lasting(0, Business)
	bought.From = end.From.Add(-time.Second)
	_, err = line.Assign(bought, bought.From)
	assert.ErrorIs(t, err, ErrAssignmentBegins, "assigned a second before the end")
}
