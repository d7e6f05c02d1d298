package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
)

var errUnreachable = errors.New("unreachable")

// memoryStore is a Store in memory.
type memoryStore struct {
	state cluster.State
	terms int64
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
		before := s.state.Term.Number
		s.state = cluster.Next(s.state, hb, s.now())
		if s.state.Term.Number != before {
			s.terms++
		}
	}
	if !arrives || !replies {
		return cluster.State{}, errUnreachable
	}
	return s.state, nil
}

func (s *memoryStore) Leave(_ context.Context, id string) error {
	s.state.Servers = slices.DeleteFunc(slices.Clone(s.state.Servers), func(e cluster.Server) bool { return e.ID == id })
	return nil
}

// TestOneTermAtATime: servers start, stop, freeze, are killed, and lose Redis, the store and its replies. Two servers never act by
// different terms, and a server that begins a term has ended its previous one.
func TestOneTermAtATime(t *testing.T) {
	t.Parallel()
	terms := 0
	for seed := range uint64(2000) {
		terms += int(runSchedule(t, rand.New(rand.NewPCG(seed, 0)), 200))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("2000 schedules of 200 steps, %d terms", terms)
	if terms < 10_000 {
		t.Errorf("only %d terms", terms)
	}
}

type process struct {
	*cluster.Member
	frozen bool
	// actedBy is the number of the term that it acted by and has not ended; 0 for none.
	actedBy int64
}

func runSchedule(t *testing.T, r *rand.Rand, steps int) (terms int64) {
	now := noon
	clock := func() time.Time { return now }
	faultRate := 0.0
	s := &memoryStore{now: clock, fault: func() (bool, bool) { return r.Float64() >= faultRate, r.Float64() >= faultRate }}
	var servers []*process
	start := func() {
		p := &process{}
		p.Member = cluster.NewMember(s, cluster.Options{ServerID: fmt.Sprint("s", r.Uint64()), Clock: clock, Log: zerolog.Nop()})
		p.OnEnd(func(_ context.Context, ended cluster.Term, _ bool) error {
			if _, ok := p.Term(); ok {
				t.Error("a term is in force while OnEnd runs")
			}
			if r.Float64() < faultRate {
				return errUnreachable
			}
			if p.actedBy != 0 && p.actedBy != ended.Number {
				t.Errorf("term %d ended, but the server acted by %d", ended.Number, p.actedBy)
			}
			p.actedBy = 0
			return nil
		})
		servers = append(servers, p)
	}
	start()
	for range steps {
		now = now.Add(time.Duration(r.IntN(400)) * time.Millisecond)
		if r.IntN(20) == 0 {
			faultRate = []float64{0, 0, 0.2, 1}[r.IntN(4)]
		}
		i := r.IntN(len(servers))
		p := servers[i]
		switch n := r.IntN(40); {
		case n == 0 && len(servers) < 9:
			start()
		case n == 1 && len(servers) > 1: // killed
			servers = append(servers[:i:i], servers[i+1:]...)
			continue
		case n == 2 && len(servers) > 1 && !p.frozen:
			if p.Leave(t.Context()) == nil {
				servers = append(servers[:i:i], servers[i+1:]...)
				continue
			}
		case n < 5:
			p.frozen = !p.frozen
		case n < 8:
			p.SetRedis([]string{"", "r", "r", "other"}[r.IntN(4)])
		}
		for _, p := range servers {
			if !p.frozen && r.IntN(4) > 0 {
				_ = p.Renew(t.Context())
			}
		}
		sameTerm(t, servers)
	}
	return s.terms
}

func sameTerm(t *testing.T, servers []*process) {
	t.Helper()
	var first cluster.Term
	for _, p := range servers {
		term, ok := p.Term()
		if !ok {
			continue
		}
		if first.Number == 0 {
			first = term
		}
		if term != first {
			t.Errorf("%v and %v are both in force", first, term)
		}
		if p.Valid(term.Number) != ok || p.Valid(term.Number-1) {
			t.Errorf("term %d is in force, but Valid says otherwise", term.Number)
		}
		if p.actedBy != 0 && p.actedBy != term.Number {
			t.Errorf("term %d began before term %d had ended", term.Number, p.actedBy)
		}
		p.actedBy = term.Number
	}
}
