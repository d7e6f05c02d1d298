package cluster_test

import (
	"testing"

	"petstore.example/internal/cluster"
	"petstore.example/internal/test/assert"
)

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
	if got := f.store.state.Term; got.SetBack <= lost {
		t.Errorf("%+v; term %d was lost", got, lost)
	}
}

// TestSetBackTwice: the store is set back twice within a second. A server that has not heard of the first time makes a term of the number that
// the others know from it. They do not take it for that one.
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
