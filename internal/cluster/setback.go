package cluster

import (
	"slices"
	"time"
)

// isSetBack reports whether the store is in an earlier state than one that it had: it was restored, or a standby was promoted that had not
// received the last commits. Then leases may be held, and grants used, of which the store knows nothing.
//
// A promotion and a restore with pg_restore --clean show in the name of the database. Any other way shows in what the sender remembers: a
// higher term, one that was active, or a heartbeat of its own that is not there. A crash loses heartbeats of less than RenewLate +
// CrashLoss; fenceTimeout allows for that, and nothing else is lost in it.
func isSetBack(s State, hb Heartbeat, now time.Time) bool {
	if s.Origin != "" && s.Origin != s.Database {
		return true
	}
	if s.Term.SetBack > hb.Highest {
		return false // It was, after all that the sender remembers, and a term was made for that.
	}
	if hb.Last.Database != "" && hb.Last.Database != s.Database {
		return true // Twice within a second, and the term's number is one that the sender remembers from the first time.
	}
	if s.Term.Number < min(hb.Highest, maxHighest) || s.Term.Number == hb.Last.Term.Number && hb.Last.Active && !s.Active {
		return true
	}
	if hb.Last.Now.IsZero() {
		return false
	}
	own, ok := s.Server(hb.ServerID)
	if !ok {
		return now.Sub(hb.Last.Now) < FoldAfter // Later it may have been folded away.
	}
	return own.Seen.Before(hb.LeastSeen())
}

// LeastSeen is the earliest time that the store can have of the sender's last heartbeat, unless it was set back; zero if there was none.
func (hb *Heartbeat) LeastSeen() time.Time {
	own, ok := hb.Last.Server(hb.ServerID)
	if !ok {
		return time.Time{}
	}
	lease := max(own.Lease, Lease)
	return own.Seen.Add(lease - fenceTimeout(lease))
}

// afterSetBack returns the state in which a term is to be made for a set-back. It keeps what the sender knows of unclean ends, and
// forgets the servers that had been removed when the sender last renewed.
func afterSetBack(s State, hb *Heartbeat, now time.Time) State {
	s.NotBefore = now.Add(SetBackWait)
	s.Folded = latest(s.Folded, hb.Last.Folded)
	s.Term.UncleanUntil = latest(s.Term.UncleanUntil, hb.Last.Term.UncleanUntil)
	s.Servers = slices.DeleteFunc(s.Servers, func(e Server) bool {
		_, known := hb.Last.Server(e.ID)
		// One that is younger may have joined since.
		return !known && e.ID != hb.ServerID && e.Seen.Before(hb.Last.Now.Add(-MemberTTL))
	})
	return withLostHeartbeats(s, hb, now)
}

// recently is how old what the store has may be for its servers to have been there when it was set back: a standby lags by seconds, a
// dump is older.
const recently = time.Minute

// withLostHeartbeats returns the state in which the servers that were live by what the store has, were so until now. If the sender remembers
// nothing there may have been others, which do not come back.
func withLostHeartbeats(s State, hb *Heartbeat, now time.Time) State {
	var newest time.Time
	for _, e := range s.Servers {
		if e.ID != hb.ServerID {
			newest = latest(newest, e.Seen)
		}
	}
	if now.Sub(newest) >= recently {
		return s
	}
	if hb.Last.Now.IsZero() {
		s.Term.UncleanUntil = latest(s.Term.UncleanUntil, now.Add(SetBackWait+FenceSlack))
	}
	for i, e := range s.Servers {
		if e.live(newest) {
			s.Servers[i].Seen = now
		}
	}
	return s
}

// withPeers adds the servers that the sender knew before the set-back. Each is waited for as one that was alive when it was noticed: it comes
// back and acknowledges the term, or it is fenced and unclean. Servers that are unknown to all senders can hold no lease at NotBefore.
func withPeers(s State, hb *Heartbeat) State {
	if s.NotBefore.IsZero() {
		return s // A term was active since.
	}
	noticed := s.NotBefore.Add(-SetBackWait)
	for _, e := range hb.Last.Servers {
		if e.ID == hb.ServerID {
			continue
		}
		if e.live(hb.Last.Now) {
			e.Seen = noticed
		}
		if there, ok := s.Server(e.ID); !ok || there.Seen.Before(e.Seen) {
			e.Acked = 0
			s = s.With(e)
		}
	}
	return s
}
