package simtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
)

var errSimRedis = errors.New("redis does not answer")

// simState is what Redis keeps of one tenant: see take.lua.
type simState struct {
	simCounts
	intents []simIntent
	// keys are those with a limit of their own that were used in the minute.
	keys []simKeyState
}

type simCounts struct {
	term, version      int64
	minute, minuteUsed int64
	day, dayUsed       int64
	month, monthUsed   int64
	initialized        int64
}

type simKeyState struct {
	id   string
	used int64
	// floor says that used is of an earlier term: the key's count has not begun in this one, and
	// begins there at least.
	floor bool
}

// key returns what a key used of the minute, and false if the state does not say.
func (h *simState) key(id string) (used int64, ok bool) {
	for _, k := range h.keys {
		if k.id == id && !k.floor {
			return k.used, true
		}
	}
	return 0, false
}

// setKey sets what a key used. A clone may share the old ones.
func (h *simState) setKey(id string, used int64) {
	h.keys = slices.DeleteFunc(slices.Clone(h.keys), func(k simKeyState) bool { return k.id == id })
	h.keys = append(h.keys, simKeyState{id: id, used: used})
}

// simIntent is one write intent, which ends at that Unix second at the latest.
type simIntent struct{ version, until int64 }

// simData is all that a Redis holds.
type simData struct{ tenants map[int64]simState }

func newSimData() simData { return simData{tenants: map[int64]simState{}} }

func (d simData) clone() simData { return simData{tenants: maps.Clone(d.tenants)} }

// simRedis is a Go model of the scripts on one Redis.
type simRedis struct {
	run  int
	data simData
	// old is what a restart finds on disk, or a replica has, when it lags behind.
	old  simData
	away bool
	// clock is its TIME.
	clock func() time.Time
	// overwritesLater is plantedLaterOverwritten, leavesNoIntent plantedIntentNotLeft,
	// removesIntents plantedIntentRemoved, carriesNothing plantedNoCarry.
	overwritesLater, leavesNoIntent, removesIntents, carriesNothing bool
	// refundsAnyMonth is plantedRefundInAnyMonth.
	refundsAnyMonth bool
	// took hears of what is counted.
	took func(c *limits.Claim, minute, day, month, n int64)
}

func newSimRedis(clock func() time.Time) *simRedis {
	return &simRedis{
		run:   1,
		data:  newSimData(),
		old:   newSimData(),
		clock: clock,
		took:  func(*limits.Claim, int64, int64, int64, int64) {},
	}
}

// fingerprint names the process: another one after every start.
func (r *simRedis) fingerprint() string { return runs[r.run] }

// runs is more than a schedule has steps.
var runs = func() (names [1000]string) {
	for i := range names {
		names[i] = fmt.Sprint("run-", i)
	}
	return names
}()

// take is take.lua.
func (r *simRedis) take(term int64, over []distributed.WriteIntent, requests []distributed.Request) error {
	for _, w := range over {
		r.endWrite(term, w.TenantID, w.Version)
	}
	var later int64
	for i := range requests {
		later = max(later, r.data.tenants[requests[i].Claim.TenantID].term)
		r.takeOne(term, &requests[i])
	}
	if r.overwritesLater {
		return nil
	}
	return laterThan(term, later)
}

// laterThan returns a LaterTermError if Redis has counts of a later term.
func laterThan(term, later int64) error {
	if later > term {
		return distributed.LaterTermError{Term: later}
	}
	return nil
}

func (r *simRedis) takeOne(term int64, a *distributed.Request) {
	a.Reply = distributed.Reply{Status: distributed.Uninitialized}
	h, ok := r.data.tenants[a.Claim.TenantID]
	if !ok || h.term != term {
		return
	}
	if h.minute < a.Minute {
		h.minute, h.minuteUsed, h.keys = a.Minute, 0, nil
	}
	if h.day < a.Day {
		h.day, h.dayUsed = a.Day, 0
	}
	if h.month < a.Month {
		h.month, h.monthUsed = a.Month, 0
	}
	u := limits.Used{Minute: h.minuteUsed, Day: h.dayUsed, Month: h.monthUsed}
	if a.Claim.KeyPerMinute > 0 {
		if u.Key, ok = h.key(a.Claim.KeyID); !ok && h.initialized == h.minute {
			a.Status = distributed.KeyUninitialized
			return
		}
	}
	room := u.Fits(&a.Claim, a.Count)
	a.Reply = distributed.Reply{
		Status:   distributed.Counted,
		InMinute: h.minute,
		InDay:    h.day,
		InMonth:  h.month,
		Used:     u,
		Version:  r.version(h),
	}
	if room > 0 {
		r.took(&a.Claim, h.minute, h.day, h.month, room)
		h.minuteUsed += room
		h.dayUsed += room
		h.monthUsed = u.Plus(&a.Claim, room).Month
		if a.Claim.KeyPerMinute > 0 {
			h.setKey(a.Claim.KeyID, u.Key+room)
		}
		if a.Writes > 0 {
			a.Intent = r.leaveIntent(&h)
		}
		r.data.tenants[a.Claim.TenantID] = h
	}
}

func (r *simRedis) version(h simState) int64 {
	for _, c := range h.intents {
		if c.until >= r.clock().Unix() {
			return 0
		}
	}
	return h.version
}

// initTenant is inittenant.lua.
func (r *simRedis) initTenant(term, tenantID int64, b counter.Baseline, changing bool) error {
	if h, ok := r.data.tenants[tenantID]; ok && h.term >= term && (h.term == term || !r.overwritesLater) {
		return laterThan(term, h.term)
	}
	h := simState{simCounts: simCounts{
		term:        term,
		version:     1,
		minute:      b.Minute,
		minuteUsed:  b.MinuteUsed,
		day:         b.Day,
		dayUsed:     b.DayUsed,
		month:       b.Month,
		monthUsed:   b.MonthUsed,
		initialized: b.Minute,
	}}
	if old, ok := r.data.tenants[tenantID]; ok && !r.carriesNothing {
		// What Redis counted in an earlier term stays counted.
		if old.minute > h.minute && old.minute <= b.LatestMinute {
			h.minute, h.minuteUsed = old.minute, 0
		}
		if old.minute == h.minute {
			h.minuteUsed, h.keys = max(h.minuteUsed, old.minuteUsed), slices.Clone(old.keys)
			for i := range h.keys {
				h.keys[i].floor = true
			}
		}
		if old.day > h.day && old.day <= b.LatestDay {
			h.day, h.dayUsed = old.day, 0
		}
		if old.day == h.day {
			h.dayUsed = max(h.dayUsed, old.dayUsed)
		}
		if old.month > h.month && old.month <= b.LatestMonth {
			h.month, h.monthUsed = old.month, 0
		}
		if old.month == h.month {
			h.monthUsed = max(h.monthUsed, old.monthUsed)
		}
		h.initialized = h.minute
	}
	if changing {
		h.intents = []simIntent{{0, r.clock().Unix() + int64(freshness.WriteIntentTTL/time.Second)}}
	}
	r.data.tenants[tenantID] = h
	return nil
}

// initKey is initkey.lua.
func (r *simRedis) initKey(term, tenantID int64, keyID string, minute, used int64) {
	h, ok := r.data.tenants[tenantID]
	if !ok || h.term != term || h.minute < minute {
		return
	}
	if h.minute > minute {
		used = 0
	}
	if _, begun := h.key(keyID); !begun {
		for _, k := range h.keys {
			if k.id == keyID {
				used = max(used, k.used)
			}
		}
		h.setKey(keyID, used)
		r.data.tenants[tenantID] = h
	}
}

// refund is refund.lua.
func (r *simRedis) refund(term int64, c *limits.Claim, minute, day, month int64) {
	h, ok := r.data.tenants[c.TenantID]
	if !ok || h.term != term {
		return
	}
	if h.minute == minute {
		h.minuteUsed = max(0, h.minuteUsed-1)
		if used, ok := h.key(c.KeyID); ok && c.KeyPerMinute > 0 {
			h.setKey(c.KeyID, max(0, used-1))
		}
	}
	if h.day == day {
		h.dayUsed = max(0, h.dayUsed-1)
	}
	if h.month == month || r.refundsAnyMonth && month != 0 {
		h.monthUsed = max(0, h.monthUsed-1)
	}
	r.data.tenants[c.TenantID] = h
}

// beginWrite is beginwrite.lua.
func (r *simRedis) beginWrite(term, tenantID int64) (version int64, ok bool, err error) {
	h, ok := r.data.tenants[tenantID]
	if !ok || h.term != term {
		return 0, false, laterThan(term, h.term)
	}
	version = r.leaveIntent(&h)
	r.data.tenants[tenantID] = h
	return version, true, nil
}

// leaveIntent leaves a write intent in a tenant's state. A clone may share the old ones.
func (r *simRedis) leaveIntent(h *simState) (version int64) {
	if r.leavesNoIntent {
		return h.version
	}
	now := r.clock().Unix()
	h.version++
	changes := []simIntent{{h.version, now + int64(freshness.WriteIntentTTL/time.Second)}}
	for _, c := range h.intents {
		if c.until >= now {
			changes = append(changes, c)
		}
	}
	if !r.removesIntents {
		h.intents = changes
	}
	return h.version
}

// endWrite removes a write intent, as take.lua does.
func (r *simRedis) endWrite(term, tenantID, version int64) {
	h, ok := r.data.tenants[tenantID]
	if !ok || h.term != term {
		return
	}
	if i := slices.IndexFunc(h.intents, func(c simIntent) bool { return c.version == version }); i >= 0 {
		h.intents = slices.Delete(slices.Clone(h.intents), i, i+1)
		r.data.tenants[tenantID] = h
	}
}

// simBackend is one server's way to Redis.
type simBackend struct {
	s        *simulation
	n        *simNode
	expected string
	// connected is the run that its connection reaches.
	connected int
}

var _ distributed.Backend = (*simBackend)(nil)

// call makes a call, unless Redis is away or cut off. The reply may be lost, or reach a server that
// was frozen.
func (c *simBackend) call(do func(*simRedis) error) error {
	r := c.s.redis
	if r.away || c.n.dead || c.n.cutRedis || c.s.strikes(c.n, simCallLost) {
		c.s.elapse(c.n, simTimeout)
		return errSimRedis
	}
	c.s.interleave(c.n)
	if c.connected != r.run {
		// The connection broke when that Redis ended. A new one finds out whom it reaches.
		broke := c.connected != 0
		c.connected = r.run
		if broke && c.s.random.IntN(2) == 0 || c.expected != "" && c.expected != r.fingerprint() {
			c.connected = 0
			return errSimRedis
		}
	}
	replied := do(r)
	if c.s.strikes(c.n, simReplyLost) {
		c.s.elapse(c.n, simTimeout)
		return errSimRedis
	}
	if c.s.strikes(c.n, simReplySlow) {
		c.s.elapse(c.n, time.Duration(c.s.random.Int64N(int64(simTimeout))))
	}
	c.s.pauseInCall(c.n, simFrozenInCall, simKilledInCall)
	c.s.interleave(c.n)
	return replied
}

func (c *simBackend) Take(term int64, over []distributed.WriteIntent, requests []distributed.Request) error {
	if c.s.planted == plantedCountAfterDeciding {
		return c.takeInTwo(term, requests)
	}
	return c.call(func(r *simRedis) error { return r.take(term, over, requests) })
}

// simMany is more than any limit.
const simMany = 1 << 50

// takeInTwo decides first and counts in a call of its own.
func (c *simBackend) takeInTwo(term int64, requests []distributed.Request) error {
	err := c.call(func(r *simRedis) error {
		for i := range requests {
			look := requests[i]
			look.Count = 0
			r.takeOne(term, &look)
			requests[i].Reply = look.Reply
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.call(func(r *simRedis) error {
		for i := range requests {
			a := requests[i]
			month := plans.Month{Kind: a.Claim.Quota.Month.Kind, Included: simMany}
			a.Claim.Quota = plans.Quota{PerMinute: simMany, PerDay: simMany, Month: month}
			a.Claim.KeyPerMinute *= simMany
			if d := limits.Decide(
				&requests[i].Claim,
				a.InMinute,
				a.InDay,
				a.InMonth,
				a.Used,
				1,
			); a.Status == distributed.Counted &&
				d.Admitted {
				r.takeOne(term, &a)
			}
		}
		return nil
	})
}

func (c *simBackend) InitTenant(_ context.Context, term, tenantID int64, b counter.Baseline, changing bool) error {
	return c.call(func(r *simRedis) error { return r.initTenant(term, tenantID, b, changing) })
}

func (c *simBackend) InitKey(_ context.Context, term, tenantID int64, keyID string, minute, used int64) error {
	return c.call(func(r *simRedis) error {
		r.initKey(term, tenantID, keyID, minute, used)
		return nil
	})
}

func (c *simBackend) Refund(_ context.Context, term int64, claim *limits.Claim, minute, day, month int64) error {
	return c.call(func(r *simRedis) error {
		r.refund(term, claim, minute, day, month)
		if c.s.planted == plantedRefundTwice {
			r.refund(term, claim, minute, day, month)
		}
		c.s.refunded(claim.TenantID)
		return nil
	})
}

func (c *simBackend) BeginWrite(_ context.Context, term, tenantID int64) (version int64, ok bool, err error) {
	err = c.call(func(r *simRedis) (err error) {
		version, ok, err = r.beginWrite(term, tenantID)
		return err
	})
	return version, ok, err
}

func (c *simBackend) Ping(context.Context) (fingerprint string, err error) {
	if c.s.redis.away || c.n.cutRedis {
		return "", errSimRedis
	}
	return c.s.redis.fingerprint(), nil
}

func (c *simBackend) Pin(fingerprint string) {
	c.expected = fingerprint
	c.connected = 0
}

// simTimeout is Options.Timeout, on the simulated clock.
const simTimeout = 100 * time.Millisecond

// Listen does nothing: simulation.refunded does it.
func (c *simBackend) Listen(context.Context, distributed.RefundListener) {}
