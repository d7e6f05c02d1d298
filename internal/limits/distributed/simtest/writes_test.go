package simtest

import (
	"context"
	"slices"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
)

// simUnderWay is how long Postgres may keep a transaction open whose server is gone, or has lost
// the connection.
const simUnderWay = 4 * time.Second

// simLate is less than what is left of a write intent when a write begins that shares it.
const simLate = freshness.WriteIntentTTL - 2*time.Second

// simCatalogue is a tenant's catalogue: how many writes were committed. Each list shows it as it
// was when it was read.
type simCatalogue struct {
	committed int64
	// known is the newest state that anybody was shown, or that has a write that was acknowledged.
	known int64
	// late are the states whose writes were committed when their intents may have been over,
	// because their server was frozen. Until such a write, or a later one, is acknowledged, or
	// announced again, lists without it may follow lists with it.
	late []int64
	// pages are the lists that are cached, by their stamps. All servers share them: a stamp is the
	// same everywhere.
	pages map[freshness.Stamp]int64
}

// simWrite is a write to a catalogue, from when its request is admitted. Other requests come
// between its steps, also to its server.
type simWrite struct {
	n        *simNode
	tenantID int64
	// announced is what the decision left, write what BeginWrite returned; nil for nothing.
	announced limits.Announced
	write     *freshness.Write
	began     time.Time
	// lost says that nobody knows the outcome: the reply was lost at began.
	lost bool
	// state is the catalogue's with the write, 0 before it is committed.
	state int64
	// again says that it ended late and could not be announced again: its server tries until it
	// can, as freshness.LateWrites does.
	again bool
}

func (s *simulation) catalogue(tenantID int64) *simCatalogue {
	c, ok := s.catalogues[tenantID]
	if !ok {
		c = &simCatalogue{pages: map[freshness.Stamp]int64{}}
		s.catalogues[tenantID] = c
	}
	return c
}

// list serves a list for an admitted request: from the cache, if the stamp allows that. known is
// what was known when the request came.
func (s *simulation) list(n *simNode, tenantID int64, stamp freshness.Stamp, known int64) {
	c := s.catalogue(tenantID)
	state := c.committed
	if stamp != 0 {
		page, cached := c.pages[stamp]
		if cached {
			state = page
			s.totals.cached++
		}
		c.pages[stamp] = state
	}
	s.tracef("%s lists tenant %d by stamp %d in state %d", n.id, tenantID, stamp, state)
	if state < known {
		s.oracle.stale = true
		s.oracle.violate(
			"%s serves a list of tenant %d by stamp %d in state %d, and %d was known",
			n.id,
			tenantID,
			stamp,
			state,
			known,
		)
	}
	if i := slices.IndexFunc(c.late, func(late int64) bool { return late > c.known }); i >= 0 {
		state = min(state, c.late[i]-1)
	}
	c.known = max(c.known, state)
}

// taker returns what decides over a request: one in four writes, and what announces it is left in
// a.
func (s *simulation) taker(
	n *simNode,
	look bool,
	a *limits.Announced,
) (decide func(context.Context, limits.Claim, time.Time) limits.Decision, writes bool) {
	switch {
	case look:
		return n.limiter.Peek, false
	case s.aside.IntN(4) > 0:
		return n.limiter.Take, false
	}
	return func(ctx context.Context, c limits.Claim, now time.Time) (d limits.Decision) {
		release(*a)
		d, *a = n.limiter.TakeWrite(ctx, c, now)
		return d
	}, true
}

func release(a limits.Announced) {
	if a != nil {
		a.Release()
	}
}

// writeSteps does some steps of writes that are under way.
func (s *simulation) writeSteps() {
	for range s.aside.IntN(5) {
		if len(s.writes) > 0 {
			i := s.aside.IntN(len(s.writes))
			if w := s.writes[i]; s.writeStep(w) {
				s.writes = slices.DeleteFunc(slices.Clone(s.writes), func(o *simWrite) bool { return o == w })
			}
		}
		if n := s.nodes[s.aside.IntN(len(s.nodes))]; n.waiting == 0 && !n.frozen && s.aside.IntN(3) == 0 {
			n.removeIntents()
		}
	}
}

func (n *simNode) removeIntents() {
	n.waiting++
	n.limiter.Invalidator().RemoveOver()
	n.waiting--
}

// writeStep does the next step of a write, and reports whether that was the last one.
func (s *simulation) writeStep(w *simWrite) (last bool) {
	c, n := s.catalogue(w.tenantID), w.n
	s.begun++ // It may change what Redis has while a request waits.
	switch {
	case w.lost || n.dead:
		// Its transaction may still be under way.
		if w.write == nil || w.state != 0 || s.now.Sub(w.began) >= simUnderWay {
			return true
		}
		if s.aside.IntN(4) == 0 {
			c.committed++
			s.tracef("a lost write of tenant %d makes state %d", w.tenantID, c.committed)
			return true
		}
		return false
	case n.frozen || n.waiting > 0:
		return false
	case w.again:
		return s.announceAgain(w)
	case w.write == nil:
		n.waiting++
		write, err := n.limiter.Invalidator().BeginWrite(context.Background(), w.tenantID, freshness.Changes)
		n.waiting--
		w.write, w.began = write, s.now
		s.tracef(
			"%s begins a write of tenant %d: %v, version %d",
			n.id,
			w.tenantID,
			err,
			s.redis.data.tenants[w.tenantID].version,
		)
		if err != nil {
			release(w.announced)
		}
		return err != nil
	case w.state == 0 && (!n.reachesPostgres() || s.aside.IntN(10) == 0):
		s.tracef("%s does not know the outcome of a write of tenant %d", n.id, w.tenantID)
		w.lost, w.began = true, s.now
		w.end(w.write.Abandon)
		return false
	case w.state == 0:
		c.committed++
		w.state = c.committed
		s.tracef("%s commits a write of tenant %d: state %d", n.id, w.tenantID, w.state)
		if s.now.Sub(w.began) >= simLate {
			c.late = append(c.late, w.state)
		}
		return false
	}
	s.tracef("%s ends a write of tenant %d, state %d", n.id, w.tenantID, w.state)
	var err error
	w.end(func() { err = w.write.Commit() })
	w.again = err != nil && !n.dead
	if err == nil && !n.dead {
		c.known = max(c.known, w.state)
		s.totals.writes++
	}
	return !w.again
}

// announceAgain tries to announce a write that ended late. Once it is, no list lacks it.
func (s *simulation) announceAgain(w *simWrite) (announced bool) {
	w.n.waiting++
	defer func() { w.n.waiting-- }()
	again, err := w.n.limiter.Invalidator().BeginWrite(context.Background(), w.tenantID, freshness.Changes)
	s.tracef("%s announces a late write of tenant %d again: %v", w.n.id, w.tenantID, err)
	if err != nil {
		return false
	}
	if c := s.catalogue(w.tenantID); !w.n.dead {
		c.known = max(c.known, w.state)
		s.totals.again++
	}
	_ = again.Commit()
	return true
}

func (w *simWrite) end(how func()) {
	w.n.waiting++
	how()
	release(w.announced)
	w.n.waiting--
}
