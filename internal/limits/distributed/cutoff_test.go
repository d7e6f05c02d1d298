package distributed_test

import (
	"errors"
	"strings"
	"testing"

	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// TestOneServerCutOff: a server that alone can't reach Redis decides nothing, and goes on in the
// same term when it reaches it again. The others notice nothing.
func TestOneServerCutOff(t *testing.T) {
	t.Parallel()
	url, w := redistest.Shared(t), newTestCluster()
	o := quick
	o.Wait = 1
	servers := []*testServer{w.server(t, url, o), w.server(t, url, o), w.server(t, url, o)}
	decides(t, servers...)
	before, _ := servers[0].member.Term()
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	take := func(s *testServer) bool {
		d := s.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
		return d.Admitted && !d.Undecided && d.Term == before.Number
	}
	for i, s := range servers {
		assert.True(t, take(s), "server", i+1, "does not decide")
	}
	cut := servers[2]
	gone := func() error { return errGone }
	cut.calls.takeFails.Store(&gone)
	cut.calls.cutOff.Store(true)
	wait.Until(t, "it is cut off", func() bool { return errors.Is(cut.CutOff(), errGone) && !cut.Decides() })
	d := cut.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
	assert.True(t, d.Undecided && !cut.Degraded(), d, "degraded", cut.Degraded(), "want undecided")
	for i, s := range servers[:2] {
		assert.True(t, take(s) && s.CutOff() == nil && !s.Degraded(), "server", i+1, "notices it")
	}
	cut.calls.takeFails.Store(nil)
	cut.calls.cutOff.Store(false)
	wait.Until(t, "it decides again", cut.Decides)
	assert.True(t, take(cut) && cut.CutOff() == nil, "it does not go on in term", before.Number)
}

// TestOneStall: a call that fails once costs nothing but time.
func TestOneStall(t *testing.T) {
	t.Parallel()
	l := newTestCluster().one(t, redistest.Shared(t), quick)
	before, _ := l.member.Term()
	once := func() error {
		l.calls.takeFails.Store(nil)
		return errGone
	}
	l.calls.takeFails.Store(&once)
	d := l.Take(t.Context(), limitstest.Claim(1, plans.Quota{PerMinute: 60, PerDay: 1000}), limitstest.Noon)
	assert.True(t, d.Admitted && d.Term == before.Number && l.CutOff() == nil, "decided", d, "cut off:", l.CutOff())
}

// TestAnotherLayout: a server that counts by another layout does not take that for another Redis,
// before Postgres decides and then.
func TestAnotherLayout(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	a := w.one(t, server.URL, quick)
	w.layout = otherLayout
	other := w.server(t, server.URL, quick)
	wait.Until(t, "it tells the others", w.refused.Load)
	err := other.CutOff()
	assert.True(t, err != nil && !errors.Is(err, distributed.ErrOtherRedis), "before Postgres decides it says", err)
	w.accepts.Store(true)
	wait.Until(
		t,
		"Postgres decides",
		func() bool { return a.Degraded() && other.Degraded() && a.Decides() && other.Decides() },
	)
}

// TestAnotherRedis: a server that uses another Redis than the others, or another database of it,
// decides nothing and says why.
func TestAnotherRedis(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	o := quick
	o.Wait = 1
	a, _ := w.two(t, server.URL, o)
	other := w.server(t, strings.TrimSuffix(server.URL, "0")+"1", o)
	wait.Until(t, "it says so", func() bool { return errors.Is(other.CutOff(), distributed.ErrOtherRedis) })
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	d := other.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
	assert.True(t, d.Undecided && !other.Decides(), d, "decides", other.Decides())
	for range 20 {
		if d := a.Take(
			t.Context(),
			limitstest.Claim(2, q),
			limitstest.Noon,
		); !d.Admitted || d.Undecided ||
			a.Degraded() {
			t.Fatalf("the others do not count in their Redis: %+v", d)
		}
	}
	assert.ErrorIs(t, other.CutOff(), distributed.ErrOtherRedis, "after a while it says")
}
