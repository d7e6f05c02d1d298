package cluster

import (
	"slices"
	"time"
)

// Next returns the state after a server's heartbeat at the time now. It does not modify s.
//
// A new term is made when the live servers no longer match the current one: Redis decides while every live server reaches
// the same Redis, otherwise Postgres decides; a server is the sole one when no other is live. One is also made when the store was set
// back. The term becomes active when every live server has acknowledged it or is fenced, and not before NotBefore.
func Next(s State, hb Heartbeat, now time.Time) State {
	s.Now, s.Busy = now, false
	setBack := isSetBack(s, hb, now)
	s.Servers = withHeartbeat(s.Servers, hb, now)
	if setBack {
		s = afterSetBack(s, &hb, now)
	} else if s.NotBefore.Sub(now) > SetBackWait {
		s.NotBefore = now.Add(SetBackWait) // The store's clock was set back.
	}
	if setBack || !s.Active && hb.Last.Term.Number < s.Term.SetBack {
		s = withPeers(s, &hb)
	}
	s = folded(s, hb.ServerID, now)
	redis, sole := target(s.Servers, now)
	if setBack || s.Term.Number == 0 || redis != s.Term.Redis || sole != s.Term.Sole {
		t := Term{
			Number:       nextNumber(s.Term.Number, hb.Highest, now),
			First:        s.Term.Number == 0 && !setBack,
			Redis:        redis,
			Sole:         sole,
			UncleanUntil: uncleanUntil(latest(s.Term.UncleanUntil, s.Folded), s.Servers, func(e Server) bool { return !e.live(now) }),
			Servers:      countLive(s.Servers, now),
			SetBack:      s.Term.SetBack,
		}
		if setBack {
			t.Number += setBackJump
			t.SetBack = t.Number
		}
		s.Term, s.Active = t, false
	}
	waits := now.Before(s.NotBefore) || slices.ContainsFunc(s.Servers, func(e Server) bool { return e.blocks(s.Term.Number, now) })
	if !s.Active && !waits {
		s.Active, s.NotBefore = true, time.Time{}
		s.Term.UncleanUntil = uncleanUntil(s.Term.UncleanUntil, s.Servers, func(e Server) bool { return e.Acked < s.Term.Number })
	}
	s.Origin = s.Database
	return s
}

// Changed reports whether the two states differ in anything but the row of that server and the time.
func Changed(before, after State, serverID string) bool {
	if before.Term != after.Term || before.Active != after.Active || !before.NotBefore.Equal(after.NotBefore) ||
		!before.Folded.Equal(after.Folded) || before.Origin != after.Origin {
		return true
	}
	return !slices.Equal(before.Without(serverID).Servers, after.Without(serverID).Servers)
}

// nextNumber returns the number of a new term.
func nextNumber(current, highest int64, now time.Time) int64 {
	return max(current, min(highest, maxHighest), min(int64(now.Sub(epoch)/time.Second), maxByClock)) + 1
}

// withHeartbeat returns the servers updated by the heartbeat.
func withHeartbeat(servers []Server, hb Heartbeat, now time.Time) []Server {
	sender := Server{ID: hb.ServerID, Seen: now, Redis: hb.Redis, Acked: hb.Acked, Lease: hb.Lease}
	next := make([]Server, 0, len(servers)+1)
	for _, e := range servers {
		if e.Seen.After(now) {
			// The store's clock was set back: time out from now on a server that is gone.
			e.Seen = now
		}
		if e.ID != hb.ServerID {
			next = append(next, e)
		}
	}
	at, _ := slices.BinarySearchFunc(next, sender, ByID)
	return slices.Insert(next, at, sender)
}

// folded returns the state without the servers that have been silent for long. They stopped in the term that is active or in earlier ones,
// so the next term allows for them; one that is not active yet does too.
func folded(s State, sender string, now time.Time) State {
	gone := func(e Server) bool { return e.ID != sender && now.Sub(e.Seen) >= FoldAfter }
	if !slices.ContainsFunc(s.Servers, gone) {
		return s
	}
	s.Folded = uncleanUntil(s.Folded, s.Servers, gone)
	if !s.Active {
		s.Term.UncleanUntil = latest(s.Term.UncleanUntil, s.Folded)
	}
	s.Servers = slices.DeleteFunc(s.Servers, gone)
	return s
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

// uncleanUntil returns the latest of that time and those by which the given unclean servers have surely stopped.
func uncleanUntil(until time.Time, servers []Server, unclean func(Server) bool) time.Time {
	for _, e := range servers {
		if unclean(e) {
			until = latest(until, e.stopped())
		}
	}
	return until
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
