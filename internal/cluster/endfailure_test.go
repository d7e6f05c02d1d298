package cluster_test

import (
	"context"
	"testing"
	"time"

	"petstore.example/internal/cluster"
)

// TestAnEndThatCannotBeTold: a server that can't tell the end of its term does not keep the others from theirs for ever. What it
// did is closed then, as that of one that ended silently.
func TestAnEndThatCannotBeTold(t *testing.T) {
	t.Parallel()
	now := noon
	s := &memoryStore{now: func() time.Time { return now }}
	a := cluster.NewMember(s, cluster.Options{ServerID: "a", Clock: s.now})
	b := cluster.NewMember(s, cluster.Options{ServerID: "b", Clock: s.now})
	fails := true
	a.OnEnd(func(context.Context, cluster.Term) error {
		if fails {
			return errUnreachable
		}
		return nil
	})
	step := func() {
		_, _ = a.Renew(t.Context()), b.Renew(t.Context())
		now = now.Add(cluster.RenewEvery)
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
	lost := now
	for !b.Valid(first.Number+1) && now.Sub(lost) < time.Minute {
		step()
	}
	if took := now.Sub(lost); took > 2*cluster.FenceTimeout+2*cluster.RenewEvery {
		t.Errorf("it took %v until the next term began", took)
	}
	if s.state.Term.UncleanUntil.Before(lost) {
		t.Errorf("closed is only what began before %v", s.state.Term.UncleanUntil)
	}
	if _, ok := a.Term(); ok {
		t.Error("a acts by a term before it told the end of the last one")
	}
	fails = false
	for range 4 {
		step()
	}
	term, ok := b.Term()
	if !ok || !a.Valid(term.Number) {
		t.Error("a does not take part again")
	}
}
