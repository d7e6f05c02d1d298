package cluster_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/cluster"
	"petstore.example/internal/test/assert"
)

var errUnreachable = errors.New("unreachable")

// memoryStore is a Store in memory.
type memoryStore struct {
	state cluster.State
	now   func() time.Time
	// fault decides whether a renewal arrives, and whether its reply does.
	fault func() (arrives, replies bool)
}

func (s *memoryStore) Renew(_ context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	arrives, replies := true, true
	if s.fault != nil {
		arrives, replies = s.fault()
	}
	if arrives {
		s.state = cluster.Next(s.state, hb, s.now())
	}
	if !arrives || !replies {
		return cluster.State{}, errUnreachable
	}
	return s.state, nil
}

func (s *memoryStore) Leave(_ context.Context, id string) error {
	s.state.Servers = slices.DeleteFunc(
		slices.Clone(s.state.Servers),
		func(e cluster.Server) bool { return e.ID == id },
	)
	return nil
}

// sharedStore is a memoryStore for several members at once. Like Postgres it notifies them of a new
// term.
type sharedStore struct {
	mu sync.Mutex
	memoryStore
	members []*cluster.Member
}

func (s *sharedStore) Renew(ctx context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.state
	state, err := s.memoryStore.Renew(ctx, hb)
	if state.Term.Number != before.Term.Number || state.Active != before.Active {
		for _, m := range s.members {
			m.Wake()
		}
	}
	return state, err
}

func (s *sharedStore) Leave(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memoryStore.Leave(ctx, id)
}

// fixture is a member a on a store, with a clock that the test sets.
type fixture struct {
	*cluster.Member
	store memoryStore
	now   time.Time
}

func newFixture() *fixture {
	f := &fixture{now: noon}
	f.store.now = func() time.Time { return f.now }
	f.Member = f.join("a")
	return f
}

func (f *fixture) join(id string) *cluster.Member {
	return cluster.NewMember(&f.store, cluster.Options{ServerID: id, Clock: f.store.now})
}

// renewTwice begins a term: the first renewal learns of it, the second acknowledges it.
func (f *fixture) renewTwice(t *testing.T) {
	t.Helper()
	assert.NoError(t, errors.Join(f.Renew(t.Context()), f.Renew(t.Context())))
}

func TestLeaseExpires(t *testing.T) {
	t.Parallel()
	f := newFixture()
	_, ok := f.Term()
	assert.True(t, !ok && !f.Valid(0), "a term is in force before the first renewal")
	f.renewTwice(t)
	term, ok := f.Term()
	if diff := cmp.Diff(cluster.Term{Number: first, First: true, Sole: "a", Servers: 1}, term); !ok || diff != "" {
		t.Errorf("in force %v (-want +got)\n%s", ok, diff)
	}
	began := f.now
	f.now = f.now.Add(cluster.Lease - 1)
	assert.True(t, f.Valid(first), "the lease expired early")
	f.now = f.now.Add(1)
	_, ok = f.Term()
	assert.True(t, !ok && !f.Valid(first), "the lease did not expire")
	assert.NoError(t, f.Renew(t.Context()), "a renewal of the same term")
	_, since, ok := f.TermSince()
	assert.True(t, ok && f.Valid(first) && since.Equal(began), "it acts by that term since", since, "want since", began)
}

// TestLeaseStartsWhenSent: a slow reply does not extend the lease.
func TestLeaseStartsWhenSent(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.store.fault = func() (bool, bool) {
		f.now = f.now.Add(600 * time.Millisecond)
		return true, true
	}
	f.renewTwice(t)
	f.now = f.now.Add(cluster.Lease - 600*time.Millisecond - 1)
	assert.True(t, f.Valid(first), "the lease expired early")
	f.now = f.now.Add(1)
	assert.True(t, !f.Valid(first), "the lease starts with the reply")
}

// TestStoreUnreachable: only failed renewals show that the store is unreachable. A process that was
// frozen does not know yet.
func TestStoreUnreachable(t *testing.T) {
	t.Parallel()
	f, reached := newFixture(), true
	f.store.fault = func() (bool, bool) { return reached, true }
	expect := func(when string, want bool) {
		t.Helper()
		assert.Equal(t, f.StoreUnreachable(), want, when)
	}
	expect("before the first renewal", false)
	_ = f.Renew(t.Context())
	f.now = f.now.Add(time.Hour)
	expect("after an hour frozen", false)
	_ = f.Renew(t.Context())
	reached = false
	_ = f.Renew(t.Context())
	expect("after one failure", false)
	f.now = f.now.Add(cluster.Lease)
	expect("when the lease has expired", true)
	reached = true
	_ = f.Renew(t.Context())
	expect("after a success", false)
}

func TestOnEndIsRetried(t *testing.T) {
	t.Parallel()
	f := newFixture()
	var calls []string
	failures := 2
	f.OnEnd(func(context.Context) error {
		calls = append(calls, "first")
		return nil
	})
	f.OnEnd(func(context.Context) error {
		calls = append(calls, "second")
		if failures--; failures >= 0 {
			return errUnreachable
		}
		return nil
	})
	f.renewTwice(t)
	f.SetRedis("r")
	for range 2 {
		assert.ErrorIs(t, f.Renew(t.Context()), errUnreachable, "renewal")
		_, ok := f.Term()
		assert.True(t, !ok && !f.store.state.Active, "a term is in force before the last one has ended")
	}
	f.renewTwice(t)
	assert.True(t, f.Valid(first+1), "term 2 is not in force")
	want := []string{"first", "second", "first", "second", "first", "second"}
	assert.DeepEqual(t, calls, want, "calls")
}

// TestOnEndFailsForLong: a server whose OnEnd keeps failing does not block the others for ever. It
// is fenced.
func TestOnEndFailsForLong(t *testing.T) {
	t.Parallel()
	f := newFixture()
	a, b, failing := f.Member, f.join("b"), true
	a.OnEnd(func(context.Context) error {
		if failing {
			return errUnreachable
		}
		return nil
	})
	step := func() {
		_, _ = a.Renew(t.Context()), b.Renew(t.Context())
		f.now = f.now.Add(cluster.RenewEvery)
	}
	a.SetRedis("r")
	b.SetRedis("r")
	for range 4 {
		step()
	}
	first, ok := a.Term()
	if !ok || !b.Valid(first.Number) {
		t.Fatal("there is no first term")
	}
	b.SetRedis("")
	a.SetRedis("")
	lost := f.now
	for !b.Valid(first.Number+1) && f.now.Sub(lost) < time.Minute {
		step()
	}
	assert.True(
		t,
		f.now.Sub(lost) <= 2*cluster.FenceTimeout+2*cluster.RenewEvery,
		"the next term began after",
		f.now.Sub(lost),
	)
	until := f.store.state.Term.SilentUntil
	assert.True(t, !until.Before(lost), "silent until", until, "want after", lost)
	_, ok = a.Term()
	assert.True(t, !ok, "a acts by a term although it has not ended the last one")
	failing = false
	for range 4 {
		step()
	}
	term, ok := b.Term()
	assert.True(t, ok && a.Valid(term.Number), "a does not take part again")
}

// TestRun: three servers agree within milliseconds, and the last one is the sole one when the
// others have left.
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
				assert.Equal(t, <-done, nil)
			})
			defer stop()
		}
		expect := func(within time.Duration, members []*cluster.Member, want cluster.Term) {
			t.Helper()
			synctest.Wait()
			time.Sleep(within)
			synctest.Wait()
			for _, m := range members {
				term, err := m.Await(t.Context())
				want.Number, want.First = term.Number, term.First
				if diff := cmp.Diff(want, term); err != nil || diff != "" {
					t.Errorf("server %s: %v (-want +got)\n%s", m.ID(), err, diff)
				}
			}
		}
		expect(time.Second, s.members, cluster.Term{Redis: "r", Servers: 1})
		s.members[1].SetRedis("")
		expect(time.Second, s.members, cluster.Term{Redis: "r", Servers: 1}) // Two of three reach it.
		s.members[0].SetRedis("")
		expect(25*time.Millisecond, s.members, cluster.Term{Servers: 3})
		s.members[0].SetRedis("r")
		s.members[1].SetRedis("r")
		expect(25*time.Millisecond, s.members, cluster.Term{Redis: "r", Servers: 3})
		assert.Equal(t, len(s.state.Servers), 3, "servers")
		s.members[2].SetRedis("")
		stops[0]()
		stops[1]()
		expect(2*cluster.RenewEvery, s.members[2:], cluster.Term{Sole: "c", Servers: 1})
		stops[2]()
	})
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := cluster.NewMember(&memoryStore{now: time.Now}, cluster.Options{ServerID: "a"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Await(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

// TestRegain: whoever registered is told after a time without a lease, and before the next one, and
// not when terms change.
func TestRegain(t *testing.T) {
	t.Parallel()
	f := newFixture()
	regained := 0
	f.OnRegain(func() {
		regained++
		assert.True(t, !f.Valid(first), "a term is in force before that")
	})
	renew := func(after time.Duration, want int) {
		t.Helper()
		f.now = f.now.Add(after)
		f.renewTwice(t)
		_, ok := f.Term()
		assert.True(t, ok && regained == want, "after", after, "in force", ok, "told", regained, "times, want", want)
	}
	renew(0, 0)
	renew(cluster.Lease-1, 0)
	renew(cluster.Lease, 1)
	renew(time.Millisecond, 1)
	f.SetRedis("r")
	renew(time.Millisecond, 1)
	renew(time.Hour, 2)
}

// TestSetBackLeavesOutNumbers: a promotion lost a term that only one server knows. Another server
// notices it first, in the same second. The term that it makes must not have the number of the lost
// one, by which the first server would take it for a term that it knows.
func TestSetBackLeavesOutNumbers(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.store.state.Database = "db"
	b := f.join("b")
	f.SetRedis("r")
	b.SetRedis("r")
	for range 3 {
		f.renewTwice(t)
		assert.NoError(t, b.Renew(t.Context()))
	}
	standby := f.store.state
	f.SetRedis("")
	assert.NoError(t, f.Renew(t.Context()))
	lost := f.store.state.Term.Number

	f.store.state = standby
	f.store.state.Database = "db+"
	for range 2 {
		assert.NoError(t, b.Renew(t.Context()))
		assert.NoError(t, f.Renew(t.Context()))
	}
	got := f.store.state.Term
	assert.True(t, got.SetBack > lost, got, "term", lost, "was lost")
}

// TestSetBackTwice: the store is set back twice within a second. A server that has not heard of the
// first time makes a term of the number that the others know from it. They do not take it for that
// one.
func TestSetBackTwice(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.store.state.Database = "db"
	b := f.join("b")
	for range 3 {
		f.renewTwice(t)
		assert.NoError(t, b.Renew(t.Context()))
	}
	dump := f.store.state
	var terms []int64
	for _, name := range []string{"db+", "db++"} {
		f.store.state = dump
		f.store.state.Database = name
		if name == "db++" {
			assert.NoError(t, b.Renew(t.Context()))
		}
		f.renewTwice(t)
		terms = append(terms, f.store.state.Term.Number)
		if f.store.state.Active || f.store.state.NotBefore != f.now.Add(cluster.SetBackWait) {
			t.Errorf("%s: %+v; nobody acts for %v", name, f.store.state, cluster.SetBackWait)
		}
	}
	assert.True(t, terms[1] > terms[0], "terms", terms)
}
