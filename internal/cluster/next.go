package cluster

import (
	"slices"
	"strings"
	"time"
)

// Next returns the state after a server's heartbeat at the time now. It does not modify s.
//
// A new term is made when the live servers no longer match the current one (see target), when a
// server says that Redis has lost counts of it, and when the store was set back. It becomes active
// when every live server has acknowledged it or is fenced, and not before NotBefore.
func Next(s State, hb Heartbeat, now time.Time) State {
	s.Now, s.Busy = now, false
	setBack := isSetBack(s, hb)
	s.Servers = withHeartbeat(s.Servers, hb, now)
	if setBack {
		// What the store has of other servers is old. Those that live come back, and none holds a
		// lease any more at NotBefore.
		s.NotBefore = now.Add(SetBackWait)
		s.Servers = slices.DeleteFunc(s.Servers, func(e Server) bool { return e.ID != hb.ServerID })
	} else if s.NotBefore.Sub(now) > SetBackWait {
		s.NotBefore = now.Add(SetBackWait) // The store's clock was set back.
	}
	s.Servers = slices.DeleteFunc(
		s.Servers,
		func(e Server) bool { return e.ID != hb.ServerID && now.Sub(e.Seen) >= ListedFor },
	)
	redis, sole := target(s.Term.Redis, s.Servers, now)
	forgot := hb.Forgot != 0 && hb.Forgot == s.Term.Number
	if setBack || forgot || s.Term.Number == 0 || redis != s.Term.Redis || sole != s.Term.Sole {
		t := Term{
			Number: nextNumber(
				s.Term.Number,
				hb.Highest,
				now,
			),
			First:       s.Term.Number == 0 && !setBack,
			Redis:       redis,
			Sole:        sole,
			SilentUntil: s.Term.SilentUntil,
			Servers:     countLive(s.Servers, now),
			SetBack:     s.Term.SetBack,
		}
		if setBack {
			t.Number += setBackJump
			t.SetBack = t.Number
		}
		s.Term, s.Active = t, false
	}
	waits := now.Before(s.NotBefore) ||
		slices.ContainsFunc(s.Servers, func(e Server) bool { return e.blocks(s.Term.Number, now) })
	if !s.Active && !waits {
		s.Active, s.NotBefore = true, time.Time{}
		s.Term.SilentUntil = silentUntil(s)
	}
	s.Origin = s.Database
	return s
}

// isSetBack reports whether the store is in an earlier state than one that it had: it was restored,
// or a standby was promoted that had not received the last commits. Then leases may be held, and
// grants used, of which the store knows nothing.
//
// A promotion and a restore with pg_restore --clean show in the name of the database, any other way
// in a term that is not there. A term that was made for it, after all that the sender remembers,
// needs no other.
func isSetBack(s State, hb Heartbeat) bool {
	renamed := hb.Database != "" && hb.Database != s.Database && s.Term.SetBack <= hb.Highest
	return s.Origin != "" && s.Origin != s.Database || renamed || s.Term.Number < min(hb.Highest, maxHighest)
}

// Changed reports whether the two states differ in anything but the row of that server and the
// time.
func Changed(before, after State, serverID string) bool {
	if before.Term != after.Term || before.Active != after.Active || !before.NotBefore.Equal(after.NotBefore) ||
		before.Origin != after.Origin {
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

// target returns the Redis that decides in a term of these servers, "" if Postgres does, and the
// sole live server if Postgres does. present is the Redis of the present term.
//
// The present Redis stays while more than half of the servers reach it, and while half of them do
// and the others may come back to it: a server that reaches another one counts as reaching none.
// Otherwise the only Redis that any server reaches decides, if all do, or more than half and the
// others are CutOff. While servers of two layouts reach one, as during an upgrade, Postgres
// decides. Servers that are fenced do not count.
func target(present string, servers []Server, now time.Time) (redis, sole string) {
	all, reachPresent, reachAny, cutOff, other, layouts := 0, 0, 0, 0, false, false
	for _, e := range servers {
		if e.live(now) {
			sole = e.ID
		}
		if e.Fenced(now) {
			continue
		}
		all++
		switch {
		case e.Redis == CutOff:
			cutOff++
		case e.Redis != "":
			other = other || redis != "" && redis != e.Redis
			layouts = layouts || redis != "" && LayoutOf(redis) != LayoutOf(e.Redis)
			redis = e.Redis
			reachAny++
		}
		if present != "" && e.Redis == present {
			reachPresent++
		}
	}
	others := all - reachPresent
	switch {
	case layouts:
		redis = ""
	case reachPresent > others, reachPresent == others && reachPresent > 0 && cutOff+reachAny-reachPresent < others:
		redis = present
	case other || reachAny < all && (2*reachAny <= all || reachAny+cutOff < all):
		redis = ""
	}
	if redis != "" || countLive(servers, now) != 1 {
		sole = ""
	}
	return redis, sole
}

// LayoutOf returns what a fingerprint says before its first comma: by which layout the server
// counts.
func LayoutOf(redis string) string {
	if layout, _, ok := strings.Cut(redis, ","); ok {
		return layout
	}
	return ""
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

// silentUntil is Term.SilentUntil of a term that becomes active.
func silentUntil(s State) time.Time {
	until := s.Term.SilentUntil
	for _, e := range s.Servers {
		if stopped := e.Seen.Add(fenceTimeout(e.Lease)); e.Acked < s.Term.Number && stopped.After(until) {
			until = stopped
		}
	}
	return until
}
