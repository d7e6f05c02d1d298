package simtest

import (
	"fmt"
	"maps"
	"time"

	"petstore.example/internal/cluster"
)

// simSaved is what Postgres had at an instant: a dump of it, or a standby that has received nothing
// since.
type simSaved struct {
	at      time.Time
	state   cluster.State
	rows    func()
	usage   simUsage
	writers map[string]simWriter
}

func (p *simPostgres) save(now time.Time) simSaved {
	return simSaved{now, p.state, p.Save(), maps.Clone(p.usage), maps.Clone(p.writers)}
}

// setBack brings back what was saved, under the name of another database. No server hears of it.
func (s *simulation) setBack(to *simSaved) {
	p := s.postgres
	name := fmt.Sprint(p.state.Database, "+")
	p.state, p.usage, p.writers = to.state, maps.Clone(to.usage), maps.Clone(to.writers)
	p.state.Database = name
	to.rows()
	// Two faults on one day: Redis no longer has what the records have lost.
	if !s.lastLoss.Add(10*time.Second).Before(to.at) || !s.lastPostgres.Before(to.at) || to.state.Term.Redis == "" {
		s.forgetAll("set back, and Redis was lost since the dump")
	}
	if !s.oracle.monthsOff.Before(to.at) {
		s.oracle.monthsForgotten = s.now
	}
	s.lastSetBack = s.now
	s.totals.setBacks++
	if s.oracle.forgotten != s.now {
		s.totals.checked++
	}
	s.oracle.disturbed = s.now
	for _, c := range s.oracle.counts { // It may count again what was given back.
		c.taken, c.refunded = c.taken+c.refunded, 0
	}
	s.tracef("Postgres is set back to %v: %+v", to.at.Format("15:04:05.000"), p.state)
}

// forgetAll notes two faults on one day.
func (s *simulation) forgetAll(why string) {
	if s.oracle.forgotten != s.now {
		s.oracle.forgotten = s.now
		s.tracef("%s", why)
	}
}

// redisLost notes that Redis lost counters, or does not decide.
func (s *simulation) redisLost() {
	s.lastLoss = s.now
	if !s.lastSetBack.IsZero() {
		s.forgetAll("Redis is lost after a set-back")
	}
}

func (s *simulation) postgresDecides() {
	s.lastPostgres = s.now
	if !s.lastSetBack.IsZero() {
		s.forgetAll("Postgres decides after a set-back")
	}
}

const (
	// simLag is how long a standby receives nothing before it is promoted, at most.
	simLag = 5 * time.Second
	// simBeforeLag is how long it still receives what happens, at most: as long as the servers need
	// to leave a Redis and to come back.
	simBeforeLag = 3 * time.Second
)

// promote has a standby fall behind, and be promoted. Often terms change before it or meanwhile, or
// servers join.
func (s *simulation) promote(n *simNode) {
	if s.random.IntN(2) == 0 {
		s.happen(simRestartedEmpty, n)
	}
	s.after(simBeforeLag, func() {
		standby := s.postgres.save(s.now)
		if s.random.IntN(4) == 0 {
			s.happen(simRestartedEmpty, n)
		}
		if len(s.nodes) < 9 && s.random.IntN(2) == 0 && !s.postgres.away {
			s.join()
		}
		s.after(simLag, func() {
			s.setBack(&standby)
			for range s.random.IntN(10) {
				s.anyRequest() // Nobody knows yet.
			}
		})
	})
}

// after has something happen within that time.
func (s *simulation) after(most time.Duration, do func()) {
	s.faults = append(s.faults, simActive{s.now.Add(time.Duration(s.random.Int64N(int64(most)))), do})
}
