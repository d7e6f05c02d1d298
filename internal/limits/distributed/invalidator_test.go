package distributed_test

import (
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

func stampAt(t *testing.T, l limits.Limiter) freshness.Stamp {
	t.Helper()
	return l.Take(t.Context(), limitstest.Claim(1, unlimited), limitstest.Noon).Stamp
}

func beginWrite(t *testing.T, i freshness.Invalidator) *freshness.Write {
	t.Helper()
	w, err := i.BeginWrite(t.Context(), 1, freshness.Changes)
	assert.NoError(t, err)
	return w
}

// TestStamps: a catalogue has no stamp while it is written to, and afterwards one that it never
// had, on every server.
func TestStamps(t *testing.T) {
	t.Parallel()
	a, b := newTestCluster().two(t, redistest.Shared(t), patient)
	had := map[freshness.Stamp]bool{}
	fresh := func(what string) {
		t.Helper()
		s := freshness.Stamp(0)
		wait.Until(t, what, func() bool { s = stampAt(t, b); return s != 0 })
		assert.True(t, !had[s], what, "stamp", s, "was there before")
		had[s] = true
		assert.Equal(t, stampAt(t, a), s, what, "one server says")
	}
	fresh("at first")
	first, second := beginWrite(t, a), beginWrite(t, b)
	assert.Equal(t, stampAt(t, b), 0, "a stamp during a write")
	_ = first.Commit()
	_ = first.Commit() // does nothing
	assert.True(t, stampAt(t, a) == 0 && stampAt(t, b) == 0, "a stamp during the other write")
	_ = second.Commit()
	fresh("after two writes")
	_ = beginWrite(t, a).Commit()
	fresh("after a third")
	beginWrite(t, a).Abandon()
	assert.Equal(t, stampAt(t, b), 0, "a stamp although nobody knows the outcome of a write")
}

// TestLateWrite: a write that ends after its intent may have expired is announced once more, so
// that lists that were cached meanwhile are not served any more.
func TestLateWrite(t *testing.T) {
	t.Parallel()
	var late atomic.Int64
	o := patient
	o.Clock = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	l := newTestCluster().one(t, redistest.Shared(t), o)
	for _, tt := range []struct {
		late      time.Duration
		announced freshness.Stamp
	}{{0, 1}, {freshness.WriteIntentTTL, 2}} {
		before, write := stampAt(t, l), beginWrite(t, l)
		late.Store(int64(tt.late))
		_ = write.Commit()
		after := freshness.Stamp(0)
		wait.Until(t, "there is a stamp", func() bool { after = stampAt(t, l); return after != 0 })
		assert.Equal(t, after-before, tt.announced, "a write that took", tt.late, "makes the stamp larger by")
	}
}

// TestStampsOfTerms: there are none in a term of Postgres, nor at the beginning of the next,
// because writes may still be under way.
func TestStampsOfTerms(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	l := w.one(t, server.URL, quick)
	assert.True(t, stampAt(t, l) != 0, "none in the first term")
	server.Stop()
	write := beginWrite(t, l)
	assert.Equal(t, stampAt(t, l), 0, "stamp without Redis")
	_ = write.Commit()
	server.Start()
	decides(t, l)
	assert.Equal(t, stampAt(t, l), 0, "stamp right after a change of terms")
	w.away.Store(true)
	wait.Until(t, "the lease has run out", l.member.StoreUnreachable)
	_, err := l.BeginWrite(t.Context(), 1, freshness.Changes)
	assert.True(t, err != nil, "a write although nobody can be told")
}
