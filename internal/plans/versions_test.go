package plans

import (
	"testing"
	"time"

	"petstore.example/internal/plans/redistest"
)

// versioned is a limiter that tells versions.
type versioned interface {
	Limiter
	Versions
}

func versionAt(t *testing.T, l Limiter) int64 {
	t.Helper()
	return l.Take(t.Context(), claim(1, open), noon).Version
}

func change(t *testing.T, l Versions) func(settled bool) {
	t.Helper()
	done, err := l.Change(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestVersions: while a catalogue changes it has none, afterwards one that it never had, on every server.
func TestVersions(t *testing.T) {
	t.Parallel()
	alone := func() (int64, bool) { return 1, true }
	url, w := redistest.Shared(t), newWorld()
	a, b := w.server(t, url, patient), w.server(t, url, patient)
	decides(t, a, b)
	m := NewMemory(WithVersions(alone))
	for name, l := range map[string][2]versioned{"memory": {m, m}, "redis": {a, b}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			had := map[int64]bool{}
			fresh := func(what string) {
				t.Helper()
				v := int64(0)
				eventually(t, what, func() bool { v = versionAt(t, l[1]); return v != 0 })
				if had[v] {
					t.Errorf("%s: version %d was there before", what, v)
				}
				had[v] = true
				if other := versionAt(t, l[0]); other != v {
					t.Errorf("%s: one server says %d, the other %d", what, v, other)
				}
			}
			fresh("at first")
			first, second := change(t, l[0]), change(t, l[1])
			if versionAt(t, l[1]) != 0 {
				t.Error("a version while it changes")
			}
			first(true)
			first(true) // once is enough
			if versionAt(t, l[0]) != 0 || versionAt(t, l[1]) != 0 {
				t.Error("a version while it still changes")
			}
			second(true)
			fresh("after two changes")
			change(t, l[0])(true)
			fresh("after a third")
			change(t, l[0])(false)
			if versionAt(t, l[1]) != 0 {
				t.Error("a version although nobody knows whether the change is made")
			}
		})
	}
}

// TestLateChange: when a change ends after its mark may have expired, lists that were read meanwhile are not given any more.
func TestLateChange(t *testing.T) {
	t.Parallel()
	l := newWorld().server(t, redistest.Shared(t), patient)
	decides(t, l)
	before := versionAt(t, l)
	l.over(t.Context(), 1, time.Now().Add(-ChangeLasts), func(bool) {})(true)
	after := int64(0)
	eventually(t, "there is a version", func() bool { after = versionAt(t, l); return after != 0 })
	if after == before {
		t.Errorf("still version %d", after)
	}
	l.over(t.Context(), 1, time.Now(), func(bool) {})(true)
	if v := versionAt(t, l); v != after {
		t.Errorf("version %d after a change in its time, which was told before: want %d", v, after)
	}
}

// TestVersionsOfTerms: in a term of Postgres there are none, nor at the beginning of the next, for changes may still be under way.
func TestVersionsOfTerms(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newWorld()
	l := w.server(t, server.URL, quick)
	decides(t, l)
	if versionAt(t, l) == 0 {
		t.Error("none in the first term")
	}
	server.Stop()
	done := change(t, l)
	if v := versionAt(t, l); v != 0 {
		t.Errorf("version %d without Redis", v)
	}
	done(true)
	server.Start()
	decides(t, l)
	if v := versionAt(t, l); v != 0 {
		t.Errorf("version %d right after a change of terms", v)
	}
	w.away.Store(true)
	eventually(t, "the lease has run out", l.cluster.StoreUnreachable)
	if _, err := l.Change(t.Context(), 1); err == nil {
		t.Error("a change although nobody can be told")
	}
}

// TestMemoryVersionsOfTerms: who is alone anew waits until what others began is over.
func TestMemoryVersionsOfTerms(t *testing.T) {
	t.Parallel()
	term, alone := int64(1), true
	m := NewMemory(WithVersions(func() (int64, bool) { return term, alone }))
	first := versionAt(t, m)
	if first == 0 {
		t.Fatal("none while alone")
	}
	alone = false
	if v := versionAt(t, m); v != 0 {
		t.Errorf("version %d while not alone", v)
	}
	term, alone = 3, true
	if v := versionAt(t, m); v != 0 {
		t.Errorf("version %d right after being alone again", v)
	}
	m.since.Store(&aloneSince{term: 3, at: time.Now().Add(-ChangeLasts - time.Second)})
	if v := versionAt(t, m); v == 0 || v == first {
		t.Errorf("version %d after that, want another than %d", v, first)
	}
}
