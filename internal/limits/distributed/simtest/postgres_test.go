package simtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/test/limitstest"
)

var (
	errSimAway = errors.New("postgres is away")
	errSimLost = errors.New("the reply was lost")
)

// simPostgres is what the servers of a simulation share in Postgres, by the same pure functions as
// the real one.
type simPostgres struct {
	limitstest.CounterStore
	state cluster.State
	usage simUsage
	// writers are the servers that have recorded usage and have not ended.
	writers map[string]simWriter
	away    bool
	// dump is what a restore brings back.
	dump    simSaved
	planted planted
	// began hears of what a tenant or key begins with in a term.
	began func(c *limits.Claim, r *counter.Recorded)
	// terms counts them.
	terms int64
}

// simDay is a day or a month of a tenant.
type simDay struct{ tenant, day, month int64 }

// newSimPostgres returns one without servers. highest is the highest limit a minute of each day.
func newSimPostgres(highest map[simDay]int64, now func() time.Time) *simPostgres {
	p := &simPostgres{usage: simUsage{}, writers: map[string]simWriter{}, state: cluster.State{Database: "db"}}
	p.Term = func() (counter.Term, error) {
		if !p.state.Active || p.state.Origin != p.state.Database {
			return counter.Term{}, nil
		}
		t := counter.Term{
			Number:  p.state.Term.Number,
			Redis:   p.state.Term.Redis != "",
			Servers: p.state.Term.Servers,
			Now:     now(),
		}
		if p.planted == plantedOwnWindow {
			t.Now = time.Time{}
		}
		return t, nil
	}
	p.Recorded = func(c *limits.Claim, w counter.Wanted) counter.Recorded {
		r := p.recorded(c, w)
		r.PerMinute = highest[simDay{tenant: c.TenantID, day: r.Day}]
		r.MonthPerMinute = highest[simDay{tenant: c.TenantID, month: r.Month}]
		p.began(c, &r)
		return r
	}
	return p
}

// recorded is recordedQuery.
func (p *simPostgres) recorded(c *limits.Claim, w counter.Wanted) counter.Recorded {
	minute, day, month := w.Minute, w.Day, w.Month
	for u, n := range p.usage {
		if u.tenant == c.TenantID && n > 0 && p.planted != plantedLatestIgnored {
			minute, day = max(minute, min(u.minute, w.LatestMinute)), max(day, min(u.day, w.LatestDay))
			month = max(month, min(u.month, w.LatestMonth))
		}
	}
	r := counter.Recorded{
		Day: day, DayUsed: p.usage[simUsed{tenant: c.TenantID, day: day}],
		Minute: minute, MinuteUsed: p.usage[simUsed{tenant: c.TenantID, minute: minute}],
		Month: month, MonthUsed: p.usage[simUsed{tenant: c.TenantID, month: month}],
		KeyUsed: p.usage[simUsed{tenant: c.TenantID, minute: minute, key: c.KeyID}],
	}
	if p.planted == plantedNoMargin {
		return r
	}
	for id, writer := range p.writers {
		server, listed := p.state.Server(id)
		if listed && server.Acked >= p.state.Term.Number {
			continue
		}
		silentIn := func(begins int64) bool {
			at := time.Unix(begins, 0)
			return at.Before(writer.at.Add(simWriterAge)) && (!listed || !server.Fenced(at))
		}
		if silentIn(limits.DayReset(day - 1)) {
			r.DaySilent++
		}
		if silentIn(limits.MonthReset(month-1)) && p.planted != plantedNoMonthMargin {
			r.MonthSilent++
		}
		if silentIn(limits.MinuteReset(c.TenantID, minute-1)) {
			r.MinuteSilent++
		}
	}
	return r
}

// simWriter is when a server last recorded its usage, and in which batch.
type simWriter struct {
	at    time.Time
	batch int64
}

// simWriterAge is how long after its last record a server may have admitted requests.
const simWriterAge = 30 * time.Second

// simStore is one server's way to Postgres: its cluster.Store and its counter.Store.
type simStore struct {
	s *simulation
	n *simNode
}

var (
	_ cluster.Store = (*simStore)(nil)
	_ counter.Store = (*simStore)(nil)
)

// call makes a call, unless Postgres is away or cut off. The reply may be lost, or reach a server
// that was frozen.
func (p *simStore) call(do func() error) error {
	p.s.interleave(p.n)
	err := p.reach(do)
	p.s.interleave(p.n)
	return err
}

// reach is a call during which no other request is answered, unless it takes long.
func (p *simStore) reach(do func() error) error {
	if !p.n.reachesPostgres() {
		return errSimAway
	}
	err := do()
	if p.s.strikes(p.n, simPostgresReplyLost) {
		p.s.elapse(p.n, time.Duration(p.s.random.Int64N(int64(300*time.Millisecond))))
		return errSimLost
	}
	if p.s.strikes(p.n, simPostgresReplySlow) {
		p.s.elapse(p.n, time.Duration(p.s.random.Int64N(int64(time.Second))))
	}
	p.s.pauseInCall(p.n, simFrozenInPostgresCall, simKilledInPostgresCall)
	return err
}

// Renew also measures the clock, as the server's program does.
func (p *simStore) Renew(ctx context.Context, hb cluster.Heartbeat) (state cluster.State, err error) {
	err = p.n.follow(func() (time.Time, error) {
		state, err = p.renew(ctx, hb)
		return state.Now, err
	})
	return state, err
}

func (p *simStore) renew(_ context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	var state cluster.State
	err := p.reach(func() error {
		pg := p.s.postgres
		before := pg.state
		p.s.besideLastRelease()
		pg.state = cluster.Next(pg.state, hb, p.s.now)
		state = pg.state
		if before.Term.Number != state.Term.Number {
			pg.terms++
		}
		if before.Term.Number != state.Term.Number || before.Active != state.Active {
			p.s.notice()
		}
		return nil
	})
	return state, err
}

// simLastReleaseID is the ID of a server of the last release.
const simLastReleaseID = "s00"

// besideLastRelease keeps the row of a server of the last release, while one lives. It answers no
// requests, and reaches the present Redis: a real one has another layout there, so that Postgres
// decides.
func (s *simulation) besideLastRelease() {
	state := &s.postgres.state
	state.Servers = slices.DeleteFunc(
		slices.Clone(state.Servers),
		func(e cluster.Server) bool { return e.ID == simLastReleaseID },
	)
	if s.lastRelease {
		e := cluster.Server{ID: simLastReleaseID, Seen: s.now, Redis: state.Term.Redis, Acked: state.Term.Number}
		e.NoMonths = true
		state.Servers = slices.Insert(state.Servers, 0, e)
	} else if s.planted == plantedNoTermWithMonths {
		state.Term.NoMonths = false
	}
}

func (p *simStore) Leave(_ context.Context, serverID string) error {
	return p.call(func() error {
		pg := p.s.postgres
		var left []cluster.Server
		for _, e := range pg.state.Servers {
			if e.ID != serverID {
				left = append(left, e)
			}
		}
		pg.state.Servers = left
		return nil
	})
}

func (p *simStore) Initialize(
	ctx context.Context,
	r counter.InitRequest,
) (base counter.Baseline, fresh bool, err error) {
	err = p.call(func() error {
		b, first, err := p.s.postgres.Initialize(ctx, r)
		if err == nil {
			base, fresh = b, first || p.s.planted == plantedFlushUnnoticed || p.s.planted == plantedLaterOverwritten
		}
		return err
	})
	return base, fresh, err
}

func (p *simStore) Grant(ctx context.Context, r counter.GrantRequest) (grant counter.Grant, err error) {
	err = p.call(func() error {
		before := p.s.postgres.Save()
		g, err := p.s.postgres.Grant(ctx, r)
		if err != nil {
			return err
		}
		grant = g
		if g.Count > 0 {
			p.s.postgresDecides()
		}
		p.s.oracle.took(&r.Claim, g.Minute, g.Day, g.Month, g.Count)
		if p.s.planted == plantedGrantNotReduced {
			before()
		}
		return nil
	})
	return grant, err
}
