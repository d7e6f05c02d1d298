package fleet_test

import (
	"context"
	"testing"
	"time"

	"petstore.example/internal/fleet"
)

// TestAnEndThatCannotBeTold: a server that can't tell the end of its term does not keep the others from theirs for ever. What it
// did is closed then, as that of one that ended silently.
func TestAnEndThatCannotBeTold(t *testing.T) {
	t.Parallel()
	now := noon
	s := &shelf{now: func() time.Time { return now }}
	a := fleet.NewMember(s, fleet.Options{ServerID: "a", Clock: s.now})
	b := fleet.NewMember(s, fleet.Options{ServerID: "b", Clock: s.now})
	fails := true
	a.OnEnd(func(context.Context, fleet.Term) error {
		if fails {
			return errAway
		}
		return nil
	})
	step := func() {
		_, _ = a.Renew(t.Context()), b.Renew(t.Context())
		now = now.Add(fleet.RenewEvery)
	}
	a.SetRedis("r")
	b.SetRedis("r")
	for range 4 {
		step()
	}
	first, ok := a.Term()
	if !ok || !b.Holds(first.Number) {
		t.Fatal("there is no first term")
	}
	b.SetRedis("")
	lost := now
	for !b.Holds(first.Number+1) && now.Sub(lost) < time.Minute {
		step()
	}
	if took := now.Sub(lost); took > 2*fleet.Silence+2*fleet.RenewEvery {
		t.Errorf("it took %v until the next term began", took)
	}
	if s.state.Term.Closed.Before(lost) {
		t.Errorf("closed is only what began before %v", s.state.Term.Closed)
	}
	if _, ok := a.Term(); ok {
		t.Error("a acts by a term before it told the end of the last one")
	}
	fails = false
	for range 4 {
		step()
	}
	term, ok := b.Term()
	if !ok || !a.Holds(term.Number) {
		t.Error("a does not take part again")
	}
}
