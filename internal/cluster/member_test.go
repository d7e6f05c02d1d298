package cluster_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/cluster"
)

// sharedStore is a memoryStore for several members at once. Like Postgres it notifies them of a new term.
type sharedStore struct {
	mu sync.Mutex
	memoryStore
	members []*cluster.Member
}

func (l *sharedStore) Renew(ctx context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.state
	s, err := l.memoryStore.Renew(ctx, hb)
	if s.Term.Number != before.Term.Number || s.Active != before.Active {
		for _, m := range l.members {
			m.Wake()
		}
	}
	return s, err
}

func (l *sharedStore) Leave(ctx context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memoryStore.Leave(ctx, id)
}

func TestLeaseEndsByItself(t *testing.T) {
	t.Parallel()
	now := noon
	s := &memoryStore{now: func() time.Time { return now }}
	m := cluster.NewMember(s, cluster.Options{ServerID: "a", Clock: s.now})
	if _, ok := m.Term(); ok || m.Valid(0) {
		t.Error("a term is in force before the first renewal")
	}
	for range 2 {
		if err := m.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	term, ok := m.Term()
	if diff := cmp.Diff(cluster.Term{Number: 1, Sole: "a", Servers: 1}, term); !ok || diff != "" {
		t.Errorf("in force %v (-want +got)\n%s", ok, diff)
	}
	now = now.Add(cluster.Lease - 1)
	if !m.Valid(1) {
		t.Error("the lease ended early")
	}
	now = now.Add(1)
	if _, ok := m.Term(); ok || m.Valid(1) {
		t.Error("the lease outlasted its time")
	}
	if err := m.Renew(t.Context()); err != nil || !m.Valid(1) {
		t.Errorf("the same term goes on with the next renewal: %v", err)
	}
}

// TestLeaseIsCountedFromTheSending: however long the answer takes.
func TestLeaseIsCountedFromTheSending(t *testing.T) {
	t.Parallel()
	now := noon
	s := &memoryStore{now: func() time.Time { return now }}
	m := cluster.NewMember(s, cluster.Options{ServerID: "a", Clock: s.now})
	s.fault = func() (bool, bool) {
		now = now.Add(600 * time.Millisecond)
		return true, true
	}
	for range 2 {
		if err := m.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(cluster.Lease - 600*time.Millisecond - 1)
	if !m.Valid(1) {
		t.Error("the lease ended early")
	}
	now = now.Add(1)
	if m.Valid(1) {
		t.Error("the lease is counted from the answer")
	}
}

// TestStoreUnreachable: only what was tried tells that the store is away. Who was frozen knows nothing yet.
func TestStoreUnreachable(t *testing.T) {
	t.Parallel()
	now, reached := noon, true
	s := &memoryStore{now: func() time.Time { return now }, fault: func() (bool, bool) { return reached, true }}
	m := cluster.NewMember(s, cluster.Options{ServerID: "a", Clock: s.now})
	is := func(when string, want bool) {
		t.Helper()
		if got := m.StoreUnreachable(); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	is("before the first renewal", false)
	_ = m.Renew(t.Context())
	now = now.Add(time.Hour)
	is("after an hour of frost", false)
	_ = m.Renew(t.Context())
	reached = false
	_ = m.Renew(t.Context())
	is("after a failure", false)
	now = now.Add(cluster.Lease)
	is("when the lease has run out", true)
	reached = true
	_ = m.Renew(t.Context())
	is("reached again", false)
}

func TestEndIsToldUntilItSucceeds(t *testing.T) {
	t.Parallel()
	s := &memoryStore{now: func() time.Time { return noon }}
	m := cluster.NewMember(s, cluster.Options{ServerID: "a", Clock: s.now})
	var told []string
	fails := 0
	m.OnEnd(func(_ context.Context, ended cluster.Term) error {
		told = append(told, "first "+ended.Sole)
		return nil
	})
	m.OnEnd(func(context.Context, cluster.Term) error {
		told = append(told, "second")
		if fails++; fails < 3 {
			return errUnreachable
		}
		return nil
	})
	for range 2 {
		if err := m.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m.SetRedis("r")
	for range 2 {
		if err := m.Renew(t.Context()); !errors.Is(err, errUnreachable) {
			t.Errorf("renewal says %v", err)
		}
		if _, ok := m.Term(); ok || s.state.Active {
			t.Error("a term is in force before the end of the last one was told")
		}
	}
	for range 2 {
		if err := m.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !m.Valid(2) {
		t.Error("term 2 is not in force")
	}
	want := []string{"first a", "second", "first a", "second", "first a", "second"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got)\n%s", diff)
	}
}

// TestRun: three servers agree within moments, and the last one is alone when the others have left.
func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sharedStore{memoryStore: memoryStore{now: time.Now}}
		var stops []func()
		for _, id := range []string{"a", "b", "c"} {
			s.members = append(s.members, cluster.NewMember(s, cluster.Options{ServerID: id}))
		}
		for _, m := range s.members {
			m.SetRedis("r")
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- m.Run(ctx) }()
			stops = append(stops, func() {
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			defer stop()
		}
		agreed := func(within time.Duration, members []*cluster.Member, want cluster.Term) {
			t.Helper()
			synctest.Wait()
			time.Sleep(within)
			synctest.Wait()
			for _, m := range members {
				term, err := m.Await(t.Context())
				want.Number = term.Number
				if diff := cmp.Diff(want, term); err != nil || diff != "" {
					t.Errorf("server %s: %v (-want +got)\n%s", m.ID(), err, diff)
				}
			}
		}
		agreed(time.Second, s.members, cluster.Term{Redis: "r", Servers: 1})
		s.members[1].SetRedis("")
		agreed(25*time.Millisecond, s.members, cluster.Term{Servers: 3})
		s.members[1].SetRedis("r")
		agreed(25*time.Millisecond, s.members, cluster.Term{Redis: "r", Servers: 3})
		if got := len(s.state.Servers); got != 3 {
			t.Errorf("%d servers, want 3", got)
		}
		s.members[2].SetRedis("")
		stops[0]()
		stops[1]()
		agreed(cluster.RenewEvery, s.members[2:], cluster.Term{Sole: "c", Servers: 1})
		stops[2]()
	})
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := cluster.NewMember(&memoryStore{now: time.Now}, cluster.Options{ServerID: "a"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Await(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkValid(b *testing.B) {
	m := cluster.NewMember(&memoryStore{now: time.Now}, cluster.Options{ServerID: "a"})
	if err := errors.Join(m.Renew(b.Context()), m.Renew(b.Context())); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Valid(1)
	}
}
