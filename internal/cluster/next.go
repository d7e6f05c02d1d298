package cluster

import (
	"slices"
	"strings"
	"time"
)

// Next returns the state after a server's heartbeat at the time now. It does not modify s.
//
// A new term is made when the live servers no longer match the current one (see target), when a
// server says that Redis has lost counts of it, when the store was set back, and when the last
// server that counts no months is gone. It becomes active
// when every live server has acknowledged it or is fenced, but not before NotBefore.
func Next(s State, hb Heartbeat, now time.Time) State {
	s.Now, s.Busy = now, false
	setBack := isSetBack(s, hb)
	s.Servers = withHeartbeat(s.Servers, hb, now)
	if setBack {
		// The store's data about other servers is old. Live servers come back, and at NotBefore
		// none holds a lease any more.
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
	noMonths := slices.ContainsFunc(s.Servers, func(e Server) bool { return e.NoMonths && e.live(now) })
	forgot := hb.Forgot != 0 && hb.Forgot == s.Term.Number
	if setBack || forgot || s.Term.Number == 0 || redis != s.Term.Redis || sole != s.Term.Sole ||
		s.Term.NoMonths && !noMonths {
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
			NoMonths:    noMonths,
		}
		if setBack {
			t.Number += setBackJump
			t.SetBack = t.Number
		}
		s.Term, s.Active = t, false
	}
	s.Term.NoMonths = s.Term.NoMonths || noMonths
	waits := now.Before(s.NotBefore) ||
		slices.ContainsFunc(s.Servers, func(e Server) bool { return e.blocks(s.Term.Number, now) })
	if !s.Active && !waits {
		s.Active, s.NotBefore = true, time.Time{}
		s.Term.SilentUntil = silentUntil(s)
	}
	s.Origin = s.Database
	return s
}

// isSetBack reports whether the store is in an earlier state than one it had: it was restored, or a
// promoted standby had not received the last commits. Then the store may not know of some leases
// that are held and some grants that were used.
//
// The name of the database shows a promotion and a restore with pg_restore --clean; a missing term
// shows any other way. No other term is needed if one was already made for the set-back, later than
// all that the sender remembers.
func isSetBack(s State, hb Heartbeat) bool {
	renamed := hb.Database != "" && hb.Database != s.Database && s.Term.SetBack <= hb.Highest
	return s.Origin != "" && s.Origin != s.Database || renamed || s.Term.Number < min(hb.Highest, maxHighest)
}

// Changed reports whether the two states differ in anything but that server's row and the time.
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
			// The store's clock was set back: count the timeout of a server that is gone from now
			// on.
			e.Seen = now
		}
		if e.ID != hb.ServerID {
			next = append(next, e)
		}
	}
	at, _ := slices.BinarySearchFunc(next, sender, ByID)
	return slices.Insert(next, at, sender)
}

// target returns the Redis that decides in a term of these servers. If Postgres decides, redis is
// "", and sole is the only live server, if there is only one. present is the Redis of the present
// term.
//
// The present Redis stays while more than half of the servers reach it. It also stays while exactly
// half do and the others may come back to it; a server that reaches another Redis counts as
// reaching none. Otherwise the only Redis that any server reaches decides, if all reach it, or more
// than half do and the others are CutOff. While servers of two layouts reach one Redis, as during
// an upgrade, Postgres decides. Fenced servers do not count.
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

// LayoutOf returns the part of a fingerprint before its first comma: the layout by which the server
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

// silentUntil returns the Term.SilentUntil of a term that becomes active.
func silentUntil(s State) time.Time {
	until := s.Term.SilentUntil
	for _, e := range s.Servers {
		if stopped := e.Seen.Add(fenceTimeout(e.Lease)); e.Acked < s.Term.Number && stopped.After(until) {
			until = stopped
		}
	}
	return until
}
