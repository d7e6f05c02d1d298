package simtest

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

var (
	errSimAway = errors.New("postgres is away")
	errSimLost = errors.New("the reply was lost")
)

// simPostgres is what the servers of a simulation share in Postgres, by the same pure functions as the real one.
type simPostgres struct {
	state    cluster.State
	rows     map[int64]counter.Row
	keys     map[simKey]counter.Row
	recorded map[simDay]int64
	away     bool
}

type simKey struct {
	tenant int64
	key    string
}

type simDay struct{ tenant, day int64 }

func newSimPostgres() *simPostgres {
	return &simPostgres{rows: map[int64]counter.Row{}, keys: map[simKey]counter.Row{}, recorded: map[simDay]int64{}}
}

// simStore is one server's way to Postgres: its cluster.Store and its CounterStore.
type simStore struct {
	s *simulation
	n *simNode
}

var (
	_ cluster.Store = (*simStore)(nil)
	_ counter.Store = (*simStore)(nil)
)

// call carries a call out, unless Postgres or the way to it is away. The reply may be lost, or reach a server that was frozen.
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
	p.s.freezeInCall(p.n, simFrozenInPostgresCall, simKilledInPostgresCall)
	return err
}

func (p *simStore) Renew(_ context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	var state cluster.State
	err := p.reach(func() error {
		pg := p.s.postgres
		before := pg.state
		pg.state = cluster.Next(pg.state, hb, p.s.now)
		state = pg.state
		if before.Term.Number != state.Term.Number || before.Active != state.Active {
			p.s.notice()
		}
		return nil
	})
	return state, err
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

// term is the one in force.
func (p *simStore) term() counter.Term {
	state := p.s.postgres.state
	if !state.Active {
		return counter.Term{}
	}
	t := state.Term
	return counter.Term{Number: t.Number, Redis: t.Redis != "", UncleanUntil: t.UncleanUntil, Servers: t.Servers}
}

func (p *simStore) load(tenantID int64, keyID string) counter.Rows {
	return counter.Rows{Tenant: p.s.postgres.rows[tenantID], Key: p.s.postgres.keys[simKey{tenantID, keyID}]}
}

func (p *simStore) save(tenantID int64, keyID string, g counter.Rows) {
	p.s.postgres.rows[tenantID] = g.Tenant
	if keyID != "" {
		p.s.postgres.keys[simKey{tenantID, keyID}] = g.Key
	}
}

// limitedKey is the key whose row belongs to the claim, "" for none.
func limitedKey(c *limits.Claim) string {
	if c.KeyPerMinute > 0 {
		return c.KeyID
	}
	return ""
}

func (p *simStore) Report(_ context.Context, reports []counter.Report) error {
	return p.call(func() error {
		if p.s.planted == plantedNoReport {
			return nil
		}
		for _, r := range reports {
			p.save(r.TenantID, r.KeyID, p.load(r.TenantID, r.KeyID).Reported(r))
		}
		return nil
	})
}

func (p *simStore) day(tenantID int64, at time.Time) counter.Recorded {
	d := simDay{tenantID, limits.DayAt(at)}
	return counter.Recorded{Used: p.s.postgres.recorded[d], PerMinute: p.s.highest[d]}
}

func (p *simStore) Initialize(_ context.Context, o counter.InitRequest) (base counter.Baseline, fresh bool, err error) {
	err = p.call(func() error {
		key := limitedKey(&o.Claim)
		g, b, first, err := p.load(o.TenantID, key).Initialized(p.term(), o, p.day(o.TenantID, o.At))
		if err != nil {
			return err
		}
		p.save(o.TenantID, key, g)
		base, fresh = b, first || p.s.planted == plantedFlushUnnoticed
		return nil
	})
	return base, fresh, err
}

func (p *simStore) Grant(_ context.Context, c counter.GrantRequest) (grant counter.Grant, err error) {
	err = p.call(func() error {
		key := limitedKey(&c.Claim)
		before := p.load(c.TenantID, key)
		g, granted, err := before.Granted(p.term(), c, p.day(c.TenantID, c.At))
		if err != nil {
			return err
		}
		if p.s.planted == plantedGrantNotReduced {
			g.Tenant.MinuteUsed -= granted.Count
			g.Tenant.DayUsed -= granted.Count
			g.Key.MinuteUsed -= granted.Count
		}
		p.save(c.TenantID, key, g)
		grant = granted
		return nil
	})
	return grant, err
}
