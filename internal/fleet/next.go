package fleet

import (
	"cmp"
	"slices"
	"time"
)

// Next returns the state after the server of b was heard at the instant now. It changes nothing that s holds.
//
// A new term is made when the servers are no longer of one mind with the current one: Redis decides while every live
// server sees the same one, otherwise Postgres; and a server is alone when no other is alive. The term becomes active when
// every live server has acknowledged it or is silent.
func Next(s State, b Beat, now time.Time) State {
	s.Servers = heard(s.Servers, b, now)
	redis, alone := target(s.Servers, now)
	if s.Term.Number == 0 || redis != s.Term.Redis || alone != s.Term.Alone {
		s.Term = Term{
			Number:  s.Term.Number + 1,
			Redis:   redis,
			Alone:   alone,
			Closed:  closed(s.Term.Closed, s.Servers, func(e Server) bool { return !e.live(now) }),
			Servers: s.Live(now),
		}
		s.Active = false
	}
	if !s.Active && !slices.ContainsFunc(s.Servers, func(e Server) bool { return e.holdsUp(s.Term.Number, now) }) {
		s.Active = true
		s.Term.Closed = closed(s.Term.Closed, s.Servers, func(e Server) bool { return e.Acked < s.Term.Number })
	}
	return s
}

// ByID is the order of a State's servers.
func ByID(a, b Server) int { return cmp.Compare(a.ID, b.ID) }

// Live returns how many servers are alive at the instant now of the store's clock.
func (s State) Live(now time.Time) int {
	n := 0
	for _, e := range s.Servers {
		if e.live(now) {
			n++
		}
	}
	return n
}

func (e Server) live(now time.Time) bool { return now.Sub(e.Seen) < Expiry }

// holdsUp tells whether the server may still act by a term before that number.
func (e Server) holdsUp(number int64, now time.Time) bool {
	return e.Acked < number && now.Sub(e.Seen) < Silence
}

// heard returns the servers with what b says, without those that ended long ago.
func heard(servers []Server, b Beat, now time.Time) []Server {
	of := Server{ID: b.ServerID, Seen: now, Redis: b.Redis, Acked: b.Acked}
	next := make([]Server, 0, len(servers)+1)
	for _, e := range servers {
		if e.Seen.After(now) {
			// The store's clock was set back: the silence of a server that ended begins now.
			e.Seen = now
		}
		if e.ID != b.ServerID && now.Sub(e.Seen) < Kept {
			next = append(next, e)
		}
	}
	at, _ := slices.BinarySearchFunc(next, of, ByID)
	return slices.Insert(next, at, of)
}

// target returns what the term of these servers would be.
func target(servers []Server, now time.Time) (redis, alone string) {
	live := 0
	for _, e := range servers {
		if !e.live(now) {
			continue
		}
		if live == 0 {
			redis, alone = e.Redis, e.ID
		}
		if e.Redis != redis {
			redis = ""
		}
		live++
	}
	if live > 1 || redis != "" {
		alone = ""
	}
	return redis, alone
}

// closed returns the latest of t and the instants before which those servers surely did their last.
func closed(t time.Time, servers []Server, silent func(Server) bool) time.Time {
	for _, e := range servers {
		if silent(e) {
			t = later(t, e.Seen.Add(lastDone))
		}
	}
	return t
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
