package simtest

import (
	"slices"
	"testing"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/test/assert"
)

// quiet has some servers go on for that long, without faults.
func (w *interleaving) quiet(d time.Duration, servers ...*modelServer) {
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(5 * time.Millisecond) {
		for _, s := range servers {
			w.advance(s)
			w.look()
		}
	}
}

// stall has a server that was silent, or one that joins, stall at a step of its renewal while the
// others change the term. It returns the violation, if there is one.
func stall(t *testing.T, seed uint64, m mistake, joins bool, step int) string {
	w := newInterleaving(t, seed, m)
	defer func() {
		for _, s := range w.servers {
			s.end()
		}
	}()
	w.quiet(2*time.Second, w.servers...)
	others := slices.Clone(w.servers[1:])
	slow := w.servers[0]
	if joins {
		others = slices.Clone(w.servers)
		w.start()
		slow = w.servers[len(w.servers)-1]
	} else {
		slow.end()
		w.quiet(cluster.FenceTimeout+100*time.Millisecond, others...)
	}
	w.renew(slow)
	for range step {
		if _, ok := slow.renewal(); !ok {
			return "" // It has no such step.
		}
	}
	for _, s := range others {
		s.SetRedis("")
	}
	w.quiet(600*time.Millisecond, others...)
	w.quiet(300*time.Millisecond, w.servers...)
	return w.violation
}

// crashed has a server that was silent renew once, and then the store crash. The others change the
// term.
func crashed(t *testing.T, seed uint64, m mistake) string {
	w := newInterleaving(t, seed, m)
	defer func() {
		for _, s := range w.servers {
			s.end()
		}
	}()
	w.quiet(2*time.Second, w.servers...)
	silent, others := w.servers[0], w.servers[1:]
	silent.end()
	w.quiet(cluster.FenceTimeout+100*time.Millisecond, others...)
	w.quiet(100*time.Millisecond, silent)
	w.store.crash()
	for _, s := range others {
		s.SetRedis("")
	}
	w.quiet(600*time.Millisecond, others...)
	return w.violation
}

// TestInterleavedStepsFindMistakes: each of the steps that Terms takes against a race is needed.
// Without it, the schedule that it is for shows two terms in force at the same time; with it, none.
func TestInterleavedStepsFindMistakes(t *testing.T) {
	t.Parallel()
	stalled := func(joins bool) func(*testing.T, uint64, mistake) string {
		return func(t *testing.T, seed uint64, m mistake) string {
			for step := range 6 {
				if v := stall(t, seed, m, joins, step); v != "" {
					return v
				}
			}
			return ""
		}
	}
	for m, tt := range map[mistake]struct {
		name string
		run  func(*testing.T, uint64, mistake) string
	}{
		readBeforeLock: {"a renewal reads the term before it has its row", stalled(false)},
		silentUnlocked: {"a change does not lock the rows of silent servers", stalled(false)},
		joinUnlocked:   {"a join does not lock the term", stalled(true)},
		neverOnDisk:    {"no renewal waits for the disk", crashed},
		setBackUnseen: {"nobody looks whether the store was set back",
			func(t *testing.T, seed uint64, m mistake) string {
				w := newInterleaving(t, seed, m)
				w.run(1500)
				return w.violation
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found := ""
			for seed := uint64(1); seed <= 8; seed++ {
				assert.Equal(t, tt.run(t, seed, noMistake), "", "seed", seed, "without a mistake")
				if v := tt.run(t, seed, m); v != "" {
					found = v
				}
			}
			assert.True(t, found != "", "not found")
			t.Log(found)
		})
	}
}
