package simtest

import (
	"context"
	"errors"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// simUsed is what a record of usage counts in: a month, a day, a minute, or a key's minute.
type simUsed struct {
	tenant, month, day, minute int64
	key                        string
}

type simUsage map[simUsed]int64

func (u simUsage) add(o simUsage) {
	for k, n := range o {
		u[k] += n
	}
}

// simMeter is a server's usage.Meter.
type simMeter struct {
	n *simNode
	// fresh was counted since the last batch. batch is what could not be written yet, the
	// batches-th.
	fresh, batch simUsage
	batches      int64
	// unrecorded is how many requests of a tenant are in fresh or in batch.
	unrecorded map[int64]int64
	flushing   bool
	// recordedAt is when the store last confirmed a batch; zero for never.
	recordedAt time.Time
}

const (
	simAnnounceEvery = 5 * time.Second
	simAnnouncedFor  = 10 * time.Second
)

var errSimBusy = errors.New("another write is under way")

func newSimMeter(n *simNode) *simMeter {
	return &simMeter{n: n, fresh: simUsage{}, unrecorded: map[int64]int64{}}
}

// count counts requests, or takes them back. A request that is taken back may be recorded already.
func (m *simMeter) count(c *limits.Claim, d *limits.Decision, n int64) {
	if number, ok := monthOf(c, d); ok {
		m.fresh[simUsed{tenant: c.TenantID, month: number}] += n
		if d.Month.Name == "" {
			m.n.s.oracle.count(simWindow{tenant: c.TenantID, number: number, month: true}).taken += max(0, n)
		}
	}
	m.fresh[simUsed{tenant: c.TenantID, day: d.Day.Number}] += n
	m.fresh[simUsed{tenant: c.TenantID, minute: d.Minute.Number}] += n
	m.fresh[simUsed{tenant: c.TenantID, minute: d.Minute.Number, key: c.KeyID}] += n
	m.unrecorded[c.TenantID] += max(0, n)
}

// monthOf returns the month in which a request is recorded: if the quota has one, also of a request
// that was decided without it, because of a server of the last release.
func monthOf(c *limits.Claim, d *limits.Decision) (number int64, ok bool) {
	switch {
	case d.Month.Name != "":
		return d.Month.Number, true
	case c.Quota.Month.Kind == plans.SomeMonth:
		return limits.MonthAt(time.Unix(limits.DayReset(d.Day.Number-1), 0)), true
	}
	return 0, false
}

// mustFlush reports whether a request that was counted may be admitted only when it is recorded.
func (m *simMeter) mustFlush(c *limits.Claim) bool {
	if m.n.s.planted == plantedMarginExceeded {
		return false
	}
	return m.unrecorded[c.TenantID] > limits.Margin(c.Quota.PerMinute) || m.quietFor() >= simAnnouncedFor
}

func (m *simMeter) quietFor() time.Duration { return m.n.s.now.Sub(m.recordedAt) }

// flush records what was counted.
func (m *simMeter) flush() error {
	if m.flushing {
		return errSimBusy
	}
	m.flushing = true
	defer func() { m.flushing = false }()
	if err := m.write(); err != nil {
		return err
	}
	if len(m.fresh) == 0 && m.quietFor() < simAnnounceEvery {
		return nil
	}
	m.batch, m.fresh = m.fresh, simUsage{}
	m.batches++
	moved := m.unrecorded
	m.unrecorded = map[int64]int64{}
	err := m.write()
	if err != nil {
		for tenant, n := range moved {
			m.unrecorded[tenant] += n
		}
	}
	return err
}

// write sends the batch, if there is one. It is added once, however often it is sent.
func (m *simMeter) write() error {
	if m.batch == nil {
		return nil
	}
	sent := m.n.s.now
	err := (&simStore{s: m.n.s, n: m.n}).reach(func() error {
		pg := m.n.s.postgres
		if pg.writers[m.n.id].batch < m.batches {
			pg.usage.add(m.batch)
		}
		pg.writers[m.n.id] = simWriter{m.n.s.now, m.batches}
		return nil
	})
	if err == nil {
		m.batch, m.recordedAt = nil, sent
	}
	return err
}

// end records everything, and says that there will be no more.
func (m *simMeter) end() {
	if m.flush() != nil {
		return
	}
	_ = (&simStore{s: m.n.s, n: m.n}).reach(func() error {
		delete(m.n.s.postgres.writers, m.n.id)
		return nil
	})
}

// admit notes a request as usage, and reports whether it may be admitted. If again is true it must
// be decided again.
func (n *simNode) admit(c *limits.Claim, d *limits.Decision) (ok, again bool) {
	if n.s.strikes(n, simRequestStalled) {
		n.s.elapse(n, time.Duration(n.s.random.Int64N(int64(4*time.Second))))
		n.s.oracle.disturbed = n.s.now
	}
	n.meter.count(c, d, 1)
	if n.meter.mustFlush(c) {
		if err := n.meter.flush(); err != nil {
			n.s.tracef("%s can't record: %v", n.id, err)
			n.meter.count(c, d, -1)
			refunding := n.s.oracle.refunding
			n.s.oracle.refunding = true
			n.s.oracle.givenBack(c, d)
			n.limiter.Refund(context.Background(), *c, *d)
			n.s.oracle.refunding = refunding
			return false, false
		}
	}
	if n.limiter.InForce(d) {
		return true, false
	}
	n.meter.count(c, d, -1)
	return false, true
}
