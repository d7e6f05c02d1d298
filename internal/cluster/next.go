package cluster

import (
	"slices"
	"time"
)

// Next returns the state after a server's heartbeat at the time now. It does not modify s.
//
// A new term is made when the live servers no longer match the current one: Redis decides while every live server reaches
// the same Redis, otherwise Postgres decides; a server is the sole one when no other is live. The term becomes active when
// every live server has acknowledged it or is fenced.
func Next(s State, hb Heartbeat, now time.Time) State {
	s.Now = now
	s.Servers = withHeartbeat(s.Servers, hb, now)
	redis, sole := target(s.Servers, now)
	if s.Term.Number == 0 || redis != s.Term.Redis || sole != s.Term.Sole {
		s.Term = Term{
			Number:       s.Term.Number + 1,
			Redis:        redis,
			Sole:         sole,
			UncleanUntil: uncleanUntil(s.Term, s.Servers, func(e Server) bool { return !e.live(now) }),
			Servers:      countLive(s.Servers, now),
		}
		s.Active = false
	}
	if !s.Active && !slices.ContainsFunc(s.Servers, func(e Server) bool { return e.blocks(s.Term.Number, now) }) {
		s.Active = true
		s.Term.UncleanUntil = uncleanUntil(s.Term, s.Servers, func(e Server) bool { return e.Acked < s.Term.Number })
	}
	return s
}

// withHeartbeat returns the servers updated by the heartbeat, without expired tombstones.
func withHeartbeat(servers []Server, hb Heartbeat, now time.Time) []Server {
	sender := Server{ID: hb.ServerID, Seen: now, Redis: hb.Redis, Acked: hb.Acked}
	next := make([]Server, 0, len(servers)+1)
	for _, e := range servers {
		if e.Seen.After(now) {
			// The store's clock was set back: time out from now on a server that is gone.
			e.Seen = now
		}
		if e.ID != hb.ServerID && now.Sub(e.Seen) < TombstoneTTL {
			next = append(next, e)
		}
	}
	at, _ := slices.BinarySearchFunc(next, sender, ByID)
	return slices.Insert(next, at, sender)
}

// target returns the Redis and the sole server that a term of these servers has.
func target(servers []Server, now time.Time) (redis, sole string) {
	live := 0
	for _, e := range servers {
		if !e.live(now) {
			continue
		}
		if live == 0 {
			redis, sole = e.Redis, e.ID
		}
		if e.Redis != redis {
			redis = ""
		}
		live++
	}
	if live > 1 || redis != "" {
		sole = ""
	}
	return redis, sole
}

func countLive(servers []Server, now time.Time) int {
	n := 0
	for _, e := range servers {
		if e.live(now) {
			n++
		}
	}
	return n
}

// uncleanUntil returns the latest of t.UncleanUntil and the times by which the given unclean servers have surely stopped.
func uncleanUntil(t Term, servers []Server, unclean func(Server) bool) time.Time {
	until := t.UncleanUntil
	for _, e := range servers {
		if stopped := e.Seen.Add(FenceTimeout + FenceSlack); unclean(e) && stopped.After(until) {
			until = stopped
		}
	}
	return until
}
