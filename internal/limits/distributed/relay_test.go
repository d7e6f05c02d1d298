package distributed_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

var errNoReply = errors.New("no reply")

// cutOff has every call of a server to Redis fail until the returned func is called. The calls are made, and their replies lost.
func (s *testServer) cutOff() (restore func()) {
	fails := func() error { return errNoReply }
	s.calls.takeFails.Store(&fails)
	s.calls.cutOff.Store(true)
	return func() {
		s.calls.cutOff.Store(false)
		s.calls.takeFails.Store(nil)
	}
}

// TestOneServerWithoutRedis: a server that alone can't reach Redis has another one make its calls. All stay in their term, and admit
// what remains.
func TestOneServerWithoutRedis(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	still := patient // All leave Redis if it lasts.
	still.Clock = func() time.Time { return limitstest.Noon }
	a, b, c := w.server(t, server.URL, patient), w.server(t, server.URL, patient), w.server(t, server.URL, still)
	decides(t, a, b, c)
	wait.Until(t, "it knows of two others", func() bool { return len(c.member.Peers()) == 2 })
	before, _ := c.member.Term()
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	admitted := limitstest.TakeN(t, c, 1, q, limitstest.Noon, 20)
	restore := c.cutOff()
	if d := c.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon); !d.Admitted || d.Minute.Remaining != 60-22 || d.Stamp == 0 {
		t.Errorf("%+v: want admitted, 38 remaining after a call was made twice, and a stamp", d)
	}
	admitted += 2 // That one, and one that is counted and not admitted: its reply was lost.
	if !w.takesAll(t, []*testServer{c, a, b}, q, 30, &admitted) || !c.Relayed.Active() || a.Relayed.Active() || c.relay.calls.Load() < 10 {
		t.Errorf("%d admitted, want 52; relayed: %v, in %d calls", admitted, c.Relayed.Active(), c.relay.calls.Load())
	}
	d := c.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
	c.Refund(t.Context(), limitstest.Claim(1, q), d)
	write, err := c.BeginWrite(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := a.Peek(t.Context(), limitstest.Claim(1, q), limitstest.Noon); d.Stamp != 0 || d.Minute.Remaining != 8 {
		t.Errorf("%+v: want 8 remaining after a refund, and no stamp while the catalogue is written to", d)
	}
	_ = write.Commit()
	wait.Until(t, "the write intent is removed", func() bool {
		return a.Peek(t.Context(), limitstest.Claim(1, q), limitstest.Noon).Stamp != 0
	})
	other := limitstest.TakeN(t, c, 2, q, limitstest.Noon, 100)
	restore()
	wait.Until(t, "it makes its calls itself again", func() bool { return !c.Relayed.Active() })
	w.takesAll(t, []*testServer{c}, q, 20, &admitted)
	if admitted != 60 || other != 60 {
		t.Errorf("%d and %d counted, want 60 of each tenant", admitted, other)
	}
	if after, ok := c.member.Term(); !ok || after != before || a.Degraded() || b.Degraded() || c.Degraded() {
		t.Errorf("term %+v, want %+v as before, and nobody degraded", after, before)
	}
}

// TestRelayFails: whatever happens to a relayed call, no limit is exceeded, and requests continue, if need be in a term of Postgres.
func TestRelayFails(t *testing.T) {
	t.Parallel()
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	type send = func(ctx context.Context, serverIDs []string, call []byte) ([]byte, error)
	for name, fault := range map[string]struct {
		relay func(send) send
		// stays says that nobody leaves the term.
		stays bool
	}{
		"call lost": {relay: func(send) send {
			return func(ctx context.Context, _ []string, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
		}},
		"result lost": {relay: func(s send) send {
			return func(ctx context.Context, ids []string, call []byte) ([]byte, error) {
				_, _ = s(ctx, ids, call)
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}},
		"call made twice": {stays: true, relay: func(s send) send {
			return func(ctx context.Context, ids []string, call []byte) ([]byte, error) {
				_, _ = s(ctx, ids, call)
				return s(ctx, ids, call)
			}
		}},
		"unreadable": {relay: func(send) send {
			return func(context.Context, []string, []byte) ([]byte, error) { return []byte("?"), nil }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, w := redistest.New(t), newTestCluster()
			a, c := w.server(t, server.URL, quick), w.server(t, server.URL, quick)
			decides(t, a, c)
			wait.Until(t, "it knows of the other", func() bool { return len(c.member.Peers()) == 1 })
			before, _ := c.member.Term()
			c.relay.send = fault.relay(c.relay.send)
			restore := c.cutOff()
			defer restore()
			var admitted int64
			for range 70 {
				admitted += limitstest.TakeN(t, c, 1, q, limitstest.Noon, 1) + limitstest.TakeN(t, a, 1, q, limitstest.Noon, 1)
			}
			after, _ := c.member.Term()
			if stays := after == before; stays != fault.stays {
				t.Errorf("it is term %+v after %+v, want another: %v", after, before, !fault.stays)
			}
			if admitted > 60 || admitted < 25 {
				t.Errorf("%d admitted, want nearly 60", admitted)
			}
		})
	}
}

// TestLateRelayAdmitsNothing: a result that arrives after the term does not count, and nobody waits for it.
func TestLateRelayAdmitsNothing(t *testing.T) {
	t.Parallel()
	w := newTestCluster()
	url := redistest.Shared(t)
	a, c := w.server(t, url, patient), w.server(t, url, patient)
	decides(t, a, c)
	wait.Until(t, "it knows of the other", func() bool { return len(c.member.Peers()) == 1 })
	q := plans.Quota{PerMinute: 2, PerDay: 10}
	restore := c.cutOff()
	defer restore()
	limitstest.TakeN(t, c, 2, q, limitstest.Noon, 1)
	send := c.relay.send
	var late atomic.Bool
	c.relay.send = func(ctx context.Context, ids []string, call []byte) ([]byte, error) {
		result, err := send(context.Background(), ids, call)
		if !late.Swap(true) {
			a.member.SetRedis("")
			<-ctx.Done() // The term's end wakes it.
		}
		return result, err
	}
	d := c.Take(t.Context(), limitstest.Claim(1, q), limitstest.Noon)
	if !d.Admitted || d.Term < 2 {
		t.Errorf("%+v: want admitted in a later term", d)
	}
	if n := limitstest.TakeN(t, c, 1, q, limitstest.Noon, 5) + limitstest.TakeN(t, a, 1, q, limitstest.Noon, 5); n > 1 {
		t.Errorf("%d more admitted, want 1 at most", n)
	}
}

// TestCutOffForGood: all servers leave Redis if one of them does not reach it for long.
func TestCutOffForGood(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	a, c := w.server(t, server.URL, quick), w.server(t, server.URL, quick)
	decides(t, a, c)
	wait.Until(t, "it knows of the other", func() bool { return len(c.member.Peers()) == 1 })
	restore := c.cutOff()
	defer restore()
	began := time.Now()
	q := plans.Quota{PerMinute: 1000, PerDay: 100_000}
	for !a.Degraded() && time.Since(began) < 10*distributed.MaxRelayed {
		if n := limitstest.TakeN(t, c, 1, q, time.Now(), 1); n != 1 {
			t.Error("refused, although there is room")
		}
		time.Sleep(20 * time.Millisecond) // between two requests
	}
	if took := time.Since(began); took < distributed.MaxRelayed || !a.Degraded() {
		t.Errorf("all left Redis after %v, want %v", took, distributed.MaxRelayed)
	}
}

// TestBothWithoutRedis: if the other server can't reach Redis either, both leave it at once.
func TestBothWithoutRedis(t *testing.T) {
	t.Parallel()
	server, w := redistest.New(t), newTestCluster()
	a, c := w.server(t, server.URL, quick), w.server(t, server.URL, quick)
	decides(t, a, c)
	wait.Until(t, "it knows of the other", func() bool { return len(c.member.Peers()) == 1 })
	defer a.cutOff()()
	defer c.cutOff()()
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	began := time.Now()
	admitted := limitstest.TakeN(t, c, 1, q, limitstest.Noon, 1)
	took := time.Since(began)
	admitted += limitstest.Contest(t, []limits.Limiter{a, c}, limitstest.Claim(1, q))
	if term, _ := c.member.Term(); term.Redis != "" || admitted < 50 || admitted > 60 {
		t.Errorf("%d admitted, in term %+v, want 60 in one of Postgres", admitted, term)
	}
	t.Logf("the first request took %v", took)
}
