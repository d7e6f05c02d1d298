package storeclock

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// fixture is a machine with a wall clock that can be set, and a store with another.
type fixture struct {
	*Clock
	t testing.TB
	// elapsed is the true time since the test began; setLocal and setStore are what the clocks show
	// beyond it.
	elapsed            time.Duration
	setLocal, setStore time.Duration
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// newFixture returns a machine whose wall clock is ahead of the store's by that much.
func newFixture(t testing.TB, ahead time.Duration) *fixture {
	f := &fixture{t: t, setLocal: ahead}
	f.Clock = Of(func() Reading { return Reading{noon.Add(f.elapsed + f.setLocal).UnixNano(), int64(f.elapsed)} })
	return f
}

func (f *fixture) store() time.Time { return noon.Add(f.elapsed + f.setStore) }

// measure takes there until the store reads its clock, and back until the reply arrives.
func (f *fixture) measure(there, back time.Duration) {
	f.t.Helper()
	err := f.Measure(func() (time.Time, error) {
		f.elapsed += there
		read := f.store()
		f.elapsed += back
		return read, nil
	})
	assert.NoError(f.t, err)
}

// want checks how far instants are ahead of the store's clock.
func (f *fixture) want(when string, ahead time.Duration) {
	f.t.Helper()
	assert.Equal(f.t, f.Now().Sub(f.store()), ahead, when, "instants are ahead by")
}

const day = 25 * time.Hour

func TestFollowsTheStore(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{day, -day, 2 * time.Second, -time.Minute, 0} {
		f := newFixture(t, ahead)
		f.want("before the first measurement", ahead)
		f.measure(0, 0)
		f.want("after it", 0)
		if f.Ahead() != ahead || f.Off() != (ahead != 0) {
			t.Errorf("ahead %v, off %v, want %v", f.Ahead(), f.Off(), ahead)
		}
		f.elapsed += time.Hour
		f.want("an hour later", 0)
	}
}

// TestTheLocalClockIsSet: what happens to the wall clock between two measurements changes nothing,
// and after the next one it is reported.
func TestTheLocalClockIsSet(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 0)
	f.measure(time.Millisecond, time.Millisecond)
	for _, ahead := range []time.Duration{day, -time.Minute, 0} {
		f.setLocal = ahead
		f.want("set", 0)
		f.elapsed += 300 * time.Millisecond
		f.measure(time.Millisecond, time.Millisecond)
		f.want("measured", 0)
		if want := ahead != 0; f.Off() != want {
			t.Errorf("set by %v: off %v, ahead %v", ahead, f.Off(), f.Ahead())
		}
	}
}

// TestARoundTripIsNoDifference: the store's clock was read at any time between the two readings.
func TestARoundTripIsNoDifference(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 0)
	f.measure(0, 900*time.Millisecond)
	f.want("a slow reply", 0)
	f.measure(900*time.Millisecond, 0)
	f.want("a slow request", 0)
	assert.Equal(t, f.Ahead(), 0, "ahead")
	f.setLocal = 3 * time.Second
	f.measure(time.Second, 0)
	if f.Ahead() != 2*time.Second || !f.Off() {
		t.Errorf("ahead %v, want at least 2s", f.Ahead())
	}
	f.want("the wall clock is wrong", 0)
}

// TestTheStoreIsSetBack: after a failover to a machine whose clock is late instants stand still,
// and follow it back only if it is late by more than that may take.
func TestTheStoreIsSetBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 0)
	f.measure(0, 0)
	f.setStore = -MaxPause
	f.measure(0, 0)
	f.want("by little", MaxPause)
	f.elapsed += MaxPause / 2
	f.want("it stands still", MaxPause/2)
	f.measure(0, 0)
	f.elapsed += MaxPause / 2
	f.want("it goes on", 0)
	f.setStore -= time.Hour
	f.measure(0, 0)
	f.want("by an hour", 0)
	f.setStore += 2 * time.Hour
	f.measure(0, 0)
	f.want("forward", 0)
}

func TestAFailedMeasurementChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, time.Minute)
	f.measure(0, 0)
	f.elapsed += time.Hour
	away := errors.New("away")
	assert.ErrorIs(t, f.Measure(func() (time.Time, error) { return noon.Add(time.Hour), away }), away, "Measure")
	f.want("an hour without the store", 0)
}

// TestInstantsNeverGoBack: with any round trips, a wall clock that jumps and a store that is set by
// up to MaxPause.
func TestInstantsNeverGoBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		some := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
		f := newFixture(t, some(2*day)-day)
		f.measure(some(time.Second), some(time.Second))
		last := f.Now()
		for range 200 {
			switch random.IntN(4) {
			case 0:
				f.measure(some(time.Second), some(time.Second))
				if off := f.Now().Sub(f.store()); off < -time.Second || off > 2*MaxPause {
					t.Fatalf("seed %d: instants are ahead by %v", seed, off)
				}
			case 1:
				f.setLocal = some(2*day) - day
			case 2:
				f.setStore = some(MaxPause/2) - MaxPause/4
			case 3:
				f.elapsed += some(time.Second)
			}
			if now := f.Now(); now.Before(last) {
				t.Fatalf("seed %d: %v after %v", seed, now, last)
			} else {
				last = now
			}
		}
	}
}

func TestInstantDoesNotAllocate(t *testing.T) {
	c := New()
	assert.Equal(t, testing.AllocsPerRun(100, func() { _ = c.Now() }), 0, "allocations")
}

// TestEarliest: what ends at the earliest instant of a time has ended then by the store's clock,
// also right after that was set back and while instants stand still. It is early by no more than
// the reply took.
func TestEarliest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, day)
	for _, set := range []time.Duration{0, time.Second, -time.Second, -time.Hour, time.Hour} {
		for _, back := range []time.Duration{0, time.Millisecond, time.Second} {
			f.setStore += set
			f.measure(time.Second, back)
			f.elapsed += 300 * time.Millisecond
			if early := f.store().Sub(f.Earliest(started.Add(f.elapsed))); early != back {
				t.Errorf("set by %v, a reply that took %v: early by %v", set, back, early)
			}
		}
	}
}
