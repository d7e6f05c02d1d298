package cluster_test

import (
	"context"
	"testing"
	"time"

	"petstore.example/internal/cluster"
)

// endings returns the setBack of each call of m's OnEnd functions.
func endings(m *cluster.Member) *[]bool {
	var got []bool
	m.OnEnd(func(_ context.Context, _ cluster.Term, setBack bool) error {
		got = append(got, setBack)
		return nil
	})
	return &got
}

// TestSetBackLeavesOutNumbers: a promotion lost a term that only one server knows. Another server notices it first, in the same second. The
// term that it makes must not have the number of the lost one, by which the first server would take it for a term that it knows.
func TestSetBackLeavesOutNumbers(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.store.state.Database = "db"
	b := f.join("b")
	f.SetRedis("r")
	b.SetRedis("r")
	for range 3 {
		f.renewTwice(t)
		if err := b.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ended := endings(f.Member)
	standby := f.store.state
	f.SetRedis("")
	if err := f.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	lost := f.store.state.Term.Number

	f.store.state = standby
	f.store.state.Database = "db+"
	for range 2 {
		if err := b.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := f.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.store.state.Term; got.SetBack <= lost {
		t.Errorf("%+v; term %d was lost", got, lost)
	}
	if len(*ended) != 2 || (*ended)[0] || !(*ended)[1] {
		t.Errorf("ended with %v, want a set-back the second time", *ended)
	}
}

// TestSetBackTwice: the store is set back twice within a second. A server that has not heard of the first time makes a term of the number that
// the others know from it. They must report once more.
func TestSetBackTwice(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.store.state.Database = "db"
	b := f.join("b")
	for range 3 {
		f.renewTwice(t)
		if err := b.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ended := endings(f.Member)
	dump := f.store.state
	for _, name := range []string{"db+", "db++"} {
		f.store.state = dump
		f.store.state.Database = name
		if name == "db++" {
			if err := b.Renew(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		f.renewTwice(t)
	}
	if len(*ended) != 2 || !(*ended)[0] || !(*ended)[1] {
		t.Errorf("ended with %v, want a set-back, twice", *ended)
	}
}

// TestLeaveAfterSetBack: a server that stops before its next renewal after a set-back reports all that it knows.
func TestLeaveAfterSetBack(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.store.state.Database = "db"
	f.renewTwice(t)
	ended := endings(f.Member)
	f.store.state.Database = "db+"
	f.now = f.now.Add(100 * time.Millisecond)
	if err := f.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(*ended) != 1 || !(*ended)[0] {
		t.Errorf("ended with %v, want a set-back, once", *ended)
	}
	if _, there := f.store.state.Server("a"); there {
		t.Error("it has not left")
	}
}
