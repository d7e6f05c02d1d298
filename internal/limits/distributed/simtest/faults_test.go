package simtest

import (
	"context"
	"slices"
	"time"
)

// simFault is a kind of fault.
type simFault int

const (
	// Of these each strikes one call, when it comes.
	simCallLost simFault = iota
	simReplyLost
	simFrozenInCall
	simKilledInCall
	simPostgresReplyLost
	simFrozenInPostgresCall
	simKilledInPostgresCall
	simReplySlow
	simPostgresReplySlow
	simRequestStalled

	// These happen at once.
	simFlushed
	simRestartedEmpty
	simRestartedOld
	simFailedOver
	simKilled
	simEvicted
	simAhead
	simKilledAndFlushed
	simRestored

	// These last for a while.
	simCutFromRedis
	simStalled
	simRedisAway
	simFrozen
	simCutFromPostgres
	simPostgresAway
	simClockSet
	simPromoted
	simLastRelease

	simFaultKinds
)

func (f simFault) String() string {
	return [...]string{
		"call lost", "reply lost", "frozen in a call", "killed in a call", "Postgres reply lost",
		"frozen in a Postgres call", "killed in a Postgres call", "reply slow", "Postgres reply slow",
		"request stalled before it is recorded", "flushed", "restarted empty", "restarted with old data",
		"failed over to a replica that lags", "killed", "evicted", "Redis has later terms", "killed and flushed",
		"Postgres restored", "cut from Redis",
		"way to Redis stalled", "Redis away", "frozen", "cut from Postgres",
		"Postgres away", "clock set", "standby that lags promoted", "server of the last release",
	}[f]
}

// simActive is a fault that lasts, and its end.
type simActive struct {
	until time.Time
	end   func()
}

// strike makes a fault happen.
func (s *simulation) strike() {
	f := simFault(s.random.IntN(int(simFaultKinds)))
	if s.planted >= plantedNoCarry && s.random.IntN(2) == 0 {
		f = simPromoted // Only it shows these mistakes.
	}
	if s.planted == plantedNoTermWithMonths {
		f = simLastRelease
	}
	s.tracef("fault: %v", f)
	n := s.nodes[s.random.IntN(len(s.nodes))]
	switch {
	case f < simFlushed:
		s.armed = append(s.armed, f)
		return
	case f < simCutFromRedis:
		s.happen(f, n)
	default:
		s.last(f, n)
	}
	s.totals.faults[f]++
	s.look()
}

func (s *simulation) happen(f simFault, n *simNode) {
	r := s.redis
	switch f {
	case simFlushed, simRestartedEmpty, simRestartedOld, simFailedOver, simEvicted, simKilledAndFlushed:
		s.redisLost()
	}
	switch f {
	case simFlushed:
		r.data = newSimData()
		s.oracle.disturbed = s.now
	case simRestartedEmpty:
		r.run++
		r.data = newSimData()
	case simRestartedOld, simFailedOver:
		r.run++
		r.data = r.old.clone()
	case simKilled:
		s.kill(n)
	case simEvicted:
		s.evict()
	case simAhead:
		// As if Postgres had been set back since Redis counted. By the clock, which has no more
		// numbers here, every later term is above all of these.
		later := s.postgres.state.Term.Number + simFuture
		for id, h := range r.data.tenants {
			h.term = later
			r.data.tenants[id] = h
		}
	case simKilledAndFlushed:
		r.data = newSimData()
		s.kill(n)
		s.oracle.disturbed = s.now
	case simRestored:
		s.restored = s.now
		s.setBack(&s.postgres.dump)
	}
}

// simFuture is how many terms Redis is ahead: more than a schedule has, because no number of a term
// comes twice.
const simFuture = 1000

// evict has Redis evict a tenant's state.
func (s *simulation) evict() {
	id := s.tenants[s.random.IntN(len(s.tenants))].id
	if s.planted == plantedKeyEvicted {
		h := s.redis.data.tenants[id]
		h.keys = nil
		s.redis.data.tenants[id] = h
		return
	}
	delete(s.redis.data.tenants, id)
	s.oracle.disturbed = s.now
}

// kill ends a server without a word. In half of the cases another takes its place.
func (s *simulation) kill(n *simNode) {
	s.remove(n)
	if len(s.nodes) == 0 || s.random.IntN(2) == 0 {
		s.join()
	}
}

func (s *simulation) last(f simFault, n *simNode) {
	switch f {
	case simClockSet:
		s.setClock(n)
		return
	case simPromoted:
		s.promote(n)
		return
	}
	var flag *bool
	longest := 8 * time.Second
	switch f {
	case simCutFromRedis:
		flag = &n.cutRedis
	case simStalled:
		flag, longest = &n.cutRedis, 300*time.Millisecond
	case simRedisAway:
		flag = &s.redis.away
	case simFrozen:
		flag = &n.frozen
	case simCutFromPostgres:
		flag = &n.cutPostgres
	case simPostgresAway:
		flag = &s.postgres.away
	case simLastRelease:
		flag = &s.lastRelease
	}
	if *flag {
		return
	}
	*flag = true
	s.after(longest, func() { *flag = false })
}

// setClock sets the clock of a server back or forward, for a while.
func (s *simulation) setClock(n *simNode) {
	n.set = []time.Duration{-25 * time.Hour, -time.Minute, time.Minute, 25 * time.Hour}[s.random.IntN(4)]
	s.after(8*time.Second, func() { n.set = 0 })
}

// endOfFault returns the end of the fault that ends first, and when that is.
func (s *simulation) endOfFault() (func(), time.Time) {
	if len(s.faults) == 0 {
		return nil, time.Time{}
	}
	first := 0
	for i, f := range s.faults {
		if f.until.Before(s.faults[first].until) {
			first = i
		}
	}
	f := s.faults[first]
	return func() {
		s.faults = slices.Delete(slices.Clone(s.faults), first, first+1)
		f.end()
	}, f.until
}

// strikes reports whether a fault that waits for a call hits this one.
func (s *simulation) strikes(n *simNode, f simFault) bool {
	i := slices.Index(s.armed, f)
	if i < 0 || n.dead || s.skipping || s.depth > 1 || s.random.IntN(3) > 0 {
		return false
	}
	s.armed = slices.Delete(s.armed, i, i+1)
	s.totals.faults[f]++
	s.oracle.disturbed = s.now
	s.tracef("%v at %s", f, n.id)
	return true
}

// pauseInCall pauses or kills a server after its call was carried out and before the reply arrives.
func (s *simulation) pauseInCall(n *simNode, pause, kill simFault) {
	if s.strikes(n, kill) {
		s.kill(n)
	}
	if !s.strikes(n, pause) {
		return
	}
	n.frozen = true
	s.elapse(n, 500*time.Millisecond+time.Duration(s.random.Int64N(int64(9*time.Second))))
	n.frozen = false
}

// restart stops a server as it should be, and starts another in its place.
func (s *simulation) restart(n *simNode) {
	if n.frozen || n.waiting > 0 || n.renewing || len(s.nodes) == 0 || s.postgres.away {
		return
	}
	s.tracef("%s restarts", n.id)
	s.totals.restarts++
	n.waiting, n.renewing = 1, true
	// A process that can't say goodbye ends all the same.
	n.meter.end()
	_ = n.member.Leave(context.Background())
	s.remove(n)
	s.join()
}
