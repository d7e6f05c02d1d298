package plans

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// takenBack is the change that takes back what an earlier one assigned, and the IDs of what it
// assigns itself.
func takenBack(
	t *testing.T,
	line Timeline,
	ids []int64,
	now time.Time,
	next *int64,
) (after Timeline, stack []int64, err error) {
	t.Helper()
	change, err := line.TakeBack(ids, now)
	if err != nil {
		return line, nil, err
	}
	before := map[int64]bool{}
	for _, a := range line.Assignments {
		before[a.ID] = true
	}
	after = change.stored(next)
	for _, a := range after.Assignments {
		if !before[a.ID] && a.Kind != End && a.From.Sub(now) < time.Millisecond {
			stack = append(stack, a.ID)
		}
	}
	return after, stack, nil
}

// sameFrom compares what binds from an instant on.
func sameFrom(t *testing.T, what string, want, got Timeline, from time.Time) {
	t.Helper()
	instants := []time.Time{from}
	for _, line := range []Timeline{want, got} {
		for _, a := range line.Assignments {
			instants = append(instants, a.From, a.From.Add(time.Hour))
		}
	}
	for _, at := range instants {
		if at.Before(from) {
			continue
		}
		w, _ := want.At(at)
		g, _ := got.At(at)
		if w.Plan != g.Plan || !SameQuota(w.Own, g.Own) || generationIn(w) != generationIn(g) {
			t.Errorf("%s: at day %g %+v is in force, want %+v", what, at.Sub(testDay(0)).Hours()/24, g, w)
			return
		}
	}
}

// TestTakeBackProperties: after a random assignment and some time the undo makes everything from
// then on as if it had never been made, and the undo of the undo as if that had not been made. What
// has begun is unchanged.
func TestTakeBackProperties(t *testing.T) {
	t.Parallel()
	const stacked = time.Millisecond
	done, over := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		line, next, now := newTimeline(Free), int64(1), testDay(1)
		for range 12 {
			now = now.Add(time.Duration(r.IntN(20)+1) * time.Hour)
			if change, err := randomChange(r, line, now, map[time.Time]Quota{}); err == nil {
				line = change.stored(&next)
			}
		}
		now = now.Add(time.Hour)
		made := Assignment{Kind: Assigned, Plan: []string{Free, Pro, Business}[r.IntN(3)], From: now}
		if r.IntN(2) == 0 {
			made.Until = now.Add(time.Duration(r.IntN(60)+1) * time.Hour)
			if r.IntN(2) == 0 {
				made.Kind, made.Plan, made.Own = Boost, "", &Quota{PerMinute: 800, Month: randomMonth(r)}
			}
		}
		change, err := line.Assign(made, now)
		if err != nil {
			continue
		}
		with := change.stored(&next)
		last, _ := with.At(now)
		now = now.Add(time.Duration(r.IntN(40)) * time.Hour).Add(time.Minute)
		after, stack, err := takenBack(t, with, []int64{last.ID}, now, &next)
		switch {
		case errors.Is(err, ErrNothingToUndo):
			over++
			sameFrom(t, "over", line, with, now)
		case errors.Is(err, ErrAssignmentBegins):
			continue
		case err != nil:
			t.Fatal(err)
		default:
			done++
			checkBegun(t, with, after, now.Add(-1))
			sameFrom(t, "undone", line, after, now.Add(stacked))
			for i, a := range after.Coming(testDay(0)) {
				assert.True(t, a.From.After(after.Assignments[i].From), "two begin at", a.From)
			}
			again, _, err := takenBack(t, after, stack, now.Add(time.Second), &next)
			assert.True(t, err == nil, "undo of the undo", err)
			sameFrom(t, "undone twice", with, again, now.Add(time.Second).Add(stacked))
		}
		if t.Failed() {
			t.Fatalf(
				"seed %d: made at %v, undone at %v\n%s\n%s\n%s",
				seed,
				made.From.Sub(testDay(0)),
				now.Sub(testDay(0)),
				show(line),
				show(with),
				show(after),
			)
		}
	}
	if done < 200 || over < 30 {
		t.Errorf("%d were undone, %d were over", done, over)
	}
}

// TestTakeBack: what would be in force is assigned by its plan as it is sold now or was, and a
// boost stays one.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		made []Assignment
		want string
	}{
		"a boost around it": {
			[]Assignment{boost(5, 20, 900), boost(6, 8, 3000)},
			"0 free; 5 free.1 900/0 boost; 6 free.1 3000/0 boost; 7 free; 7.000000000011574 free.1 900/0 boost; 20 " +
				"free.1 end",
		},
		"of a generation": {[]Assignment{lasting(12, Pro), lasting(22, Business)},
			"0 free; 12 pro; 22 business; 23 pro.1"},
		"a trial around it": {
			[]Assignment{until(5, 20, Pro, Free), lasting(6, Business)},
			"0 free; 5 pro; 6 business; 7 free; 7.000000000011574 pro; 20 free.1 end",
		},
	} {
		line, next := newTimeline(Free), int64(1)
		for _, a := range c.made {
			change, err := line.Assign(a, a.From)
			assert.NoError(t, err)
			line = change.stored(&next)
		}
		last := c.made[len(c.made)-1].From
		made, _ := line.At(last)
		after, _, err := takenBack(t, line, []int64{made.ID}, last.Add(24*time.Hour), &next)
		assert.NoError(t, err)
		assert.Equal(t, show(after), c.want, name)
	}
}

func TestTakeBackRefuses(t *testing.T) {
	t.Parallel()
	line := newTimeline(Free)
	_, err := line.TakeBack([]int64{99}, testDay(1))
	assert.ErrorIs(t, err, ErrAssignmentNotFound, "an unknown assignment")
	_, err = line.TakeBack([]int64{line.Assignments[0].ID}, testDay(1))
	assert.ErrorIs(t, err, ErrAssignmentBegun, "the first assignment")
}

// TestSetEnd: the removal of an end is taken back.
func TestSetEnd(t *testing.T) {
	t.Parallel()
	next := int64(1)
	line := newTimeline(Free)
	c, err := line.Assign(until(1, 9, Pro, Business), testDay(1))
	assert.NoError(t, err)
	line = c.stored(&next)
	trial, _ := line.At(testDay(1))
	end := line.Coming(testDay(1))[0]
	c, err = line.Unschedule(end.ID, testDay(2))
	assert.NoError(t, err)
	lasts := c.stored(&next)
	c, err = lasts.SetEnd(trial.ID, end.From, Business, testDay(3))
	assert.NoError(t, err)
	sameFrom(t, "ends again", line, c.stored(&next), testDay(3))
	_, err = lasts.SetEnd(trial.ID, end.From, Business, testDay(10))
	assert.ErrorIs(t, err, ErrInPast, "an end in the past")
}
