package simtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/plans"
	"petstore.example/internal/storeclock"
)

const (
	// simSkew is how far a server's clock may be off.
	simSkew = 400 * time.Millisecond
	// These are slower than in a real process: still often enough, and fewer steps.
	simRenewEvery = 600 * time.Millisecond
	simPingEvery  = 250 * time.Millisecond
	simRenewSoon  = 80 * time.Millisecond
	simNoticed    = 3 * time.Millisecond
	// simRecorded is the pause between two records of usage, and simRecordedLate that of a server
	// that can't keep up.
	simRecorded     = 500 * time.Millisecond
	simRecordedLate = 8 * time.Second
	simLookEvery    = 100 * time.Millisecond
	// simAwait is how long a request waits for a term.
	simAwait = 250 * time.Millisecond
)

// simulation is a cluster of servers over one Postgres and one Redis, on a clock of its own, in one
// goroutine. While a server waits for an answer the others go on: that is done inside of the call.
type simulation struct {
	random *rand.Rand
	// aside is for writes to catalogues, of which limits know nothing.
	aside    *rand.Rand
	now      time.Time
	nodes    []*simNode // that live
	started  int
	postgres *simPostgres
	redis    *simRedis
	oracle   *simOracle
	// highest is the highest limit a minute of each day.
	highest    map[simDay]int64
	tenants    []*simTenant
	given      []simGiven
	catalogues map[int64]*simCatalogue
	writes     []*simWrite
	faults     []simActive
	armed      []simFault
	planted    planted
	totals     simTotals
	trace      func(string) // nil for none
	// nextLook is when to look whether something is still wrong.
	nextLook time.Time
	// skipping is true while the servers renew after steps were left out: not all have done so yet.
	skipping bool
	// lastGone is when a server last left or was killed.
	lastGone                            time.Time
	lastLoss, lastPostgres, lastSetBack time.Time
	// lastRelease is true while a server of the last release lives.
	lastRelease bool
	// month is the number of the last month that was seen.
	month int64
	// restored is when Postgres was last restored from a dump.
	restored time.Time
	// depth is how many calls are being waited for; begun counts requests.
	depth, begun int
}

type simTenant struct {
	id    int64
	quota plans.Quota
	keys  []simLimit
}

type simLimit struct {
	id        string
	perMinute int64
}

// simGiven is an admitted request that may still fail.
type simGiven struct {
	n     *simNode
	claim limits.Claim
	d     limits.Decision
}

// simNode is one server.
type simNode struct {
	s      *simulation
	id     string
	number int
	skew   time.Duration
	// instants are by Postgres's clock, as the server reads it: off by skew. set is how far its own
	// clock was set.
	instants *storeclock.Clock
	set      time.Duration
	member   *cluster.Member
	limiter  *distributed.Limiter
	// cutRedis and cutPostgres say that it can't reach them. waiting is in how many calls it is,
	// frozen that it does nothing.
	cutRedis, cutPostgres, frozen, dead bool
	renewing                            bool
	waiting                             int
	nextRenew, nextPing, nextRecord     time.Time
	meter                               *simMeter
	// subscribed is the run of Redis by which it hears of refunds, 0 for none.
	subscribed int
	sessions   int64
	weight     int
}

func (n *simNode) clock() time.Time {
	if n.s.planted == plantedOwnClock {
		return n.s.now.Add(n.set)
	}
	return n.instants.Now()
}

// follow measures Postgres's clock with a call that returns it.
func (n *simNode) follow(read func() (time.Time, error)) error {
	return n.instants.Measure(func() (time.Time, error) {
		now, err := read()
		return now.Add(n.skew), err
	})
}

func (n *simNode) reachesPostgres() bool { return !n.dead && !n.cutPostgres && !n.s.postgres.away }

// simCluster is the cluster that a server's limiter sees.
type simCluster struct {
	*cluster.Member
	s *simulation
	n *simNode
	// last is the last term that was in force.
	last cluster.Term
}

var _ distributed.Cluster = (*simCluster)(nil)

// Await lets time pass until a term is in force.
func (f *simCluster) Await(context.Context) (cluster.Term, error) {
	for until := f.s.now.Add(simAwait); f.s.now.Before(until); {
		if t, ok := f.Term(); ok {
			return t, nil
		}
		f.s.depth++
		f.s.advance(f.s.now.Add(simRenewSoon))
		f.s.depth--
	}
	return cluster.Term{}, context.DeadlineExceeded
}

// SetRedis renews soon, like Member.Wake.
func (f *simCluster) SetRedis(fingerprint string) {
	f.Member.SetRedis(fingerprint)
	f.n.nextRenew = minTime(f.n.nextRenew, f.s.now)
}

// Saw renews soon, like Member.Wake.
func (f *simCluster) Saw(number int64) {
	f.Member.Saw(number)
	f.n.nextRenew = minTime(f.n.nextRenew, f.s.now)
}

// Forgot renews soon, like Member.Wake.
func (f *simCluster) Forgot(number int64) {
	f.Member.Forgot(number)
	f.n.nextRenew = minTime(f.n.nextRenew, f.s.now)
}

// Term is where a server finds out that its lease has ended, and Valid where it finds out that a
// reply came too late.
func (f *simCluster) Term() (cluster.Term, bool) {
	t, ok := f.Member.Term()
	if f.s.planted != plantedLeaseIgnored {
		return t, ok
	}
	if ok {
		f.last = t
	}
	return f.last, f.last.Number != 0
}

// Valid says so after every reply.
func (f *simCluster) Valid(number int64) bool {
	switch f.s.planted {
	case plantedOldReply:
		return true
	case plantedLeaseIgnored:
		return number == f.last.Number
	}
	return f.Member.Valid(number)
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// notice is what Postgres sends when terms change. One in ten gets lost.
func (s *simulation) notice() {
	for _, n := range s.nodes {
		if n.reachesPostgres() && s.random.IntN(10) > 0 {
			n.nextRenew = minTime(n.nextRenew, s.now.Add(simNoticed))
		}
	}
}

// refunded is what Redis publishes when a request was given back. A connection that does not bring
// it has broken: it is not resumed.
func (s *simulation) refunded(tenantID int64) {
	for _, n := range s.nodes {
		if n.subscribes() {
			n.limiter.Refunds().Refunded(tenantID)
		} else {
			n.subscribed = 0
		}
	}
}

// subscribes reports whether the server's subscription works. A frozen server receives what it was
// sent when it continues.
func (n *simNode) subscribes() bool {
	return n.subscribed == n.s.redis.run && !n.cutRedis && !n.s.redis.away
}

// subscribe renews a lost subscription.
func (n *simNode) subscribe() {
	if n.subscribes() {
		return
	}
	n.subscribed = 0
	n.limiter.Refunds().Subscribed(0)
	if !n.cutRedis && !n.s.redis.away {
		n.subscribed = n.s.redis.run
		n.sessions++
		n.limiter.Refunds().Subscribed(n.sessions)
	}
}

// join starts a server. Like a process it pings Redis before it joins the cluster.
func (s *simulation) join() *simNode {
	s.started++
	n := &simNode{
		s: s, id: fmt.Sprintf("s%02d", s.started), number: s.started, weight: 1 + s.random.IntN(10),
		nextRenew: s.now, nextPing: s.now, nextRecord: s.now,
	}
	if s.random.IntN(3) == 0 {
		n.skew = time.Duration(s.random.Int64N(int64(2*simSkew))) - simSkew
	}
	n.instants = storeclock.Of(func() storeclock.Reading {
		return storeclock.Reading{Local: s.now.Add(n.set).UnixNano(), Monotonic: s.now.UnixNano()}
	})
	_ = n.follow(func() (time.Time, error) { return s.now, nil })
	n.meter = newSimMeter(n)
	store, clock := &simStore{s: s, n: n}, func() time.Time { return s.now }
	n.member = cluster.NewMember(store, cluster.Options{ServerID: n.id, Clock: clock})
	n.member.OnEnd(func(context.Context) error {
		if s.planted == plantedEndUnrecorded {
			return nil
		}
		return n.meter.flush()
	})
	n.limiter = distributed.New(&simBackend{s: s, n: n}, distributed.Options{
		Cluster: &simCluster{
			Member: n.member,
			s:      s,
			n:      n,
		},
		Counters:  store,
		Log:       zerolog.Nop(),
		PingEvery: simPingEvery,
		Clock:     clock,
		Sleep:     func(d time.Duration) { s.elapse(n, d) },
	})
	for range 2 {
		n.limiter.Ping(context.Background())
	}
	s.nodes = append(s.nodes, n)
	n.renew()
	return n
}

// remove takes a server away.
func (s *simulation) remove(n *simNode) {
	n.dead, s.lastGone = true, s.now
	s.nodes = slices.DeleteFunc(slices.Clone(s.nodes), func(o *simNode) bool { return o == n })
	s.given = slices.DeleteFunc(s.given, func(g simGiven) bool { return g.n == n })
}

// record writes down what billing knows.
func (n *simNode) record() {
	if !n.reachesPostgres() || n.s.now.Before(n.nextRecord) {
		return
	}
	n.nextRecord = n.s.now.Add(simRecorded)
	if n.number%3 == 0 || n.s.planted == plantedEndUnrecorded {
		n.nextRecord = n.s.now.Add(simRecordedLate)
	}
	_ = n.meter.flush() // It is tried again.
}

// renew is one step of the server's part in the cluster. It also happens while a request waits.
func (n *simNode) renew() {
	n.nextRenew = n.s.now.Add(simRenewEvery)
	n.subscribe()
	n.renewing = true
	err := n.member.Renew(context.Background())
	n.renewing = false
	if err != nil {
		n.s.tracef("%s does not renew: %v", n.id, err)
	}
	if _, inForce := n.member.Term(); !inForce && err == nil {
		n.nextRenew = minTime(n.nextRenew, n.s.now.Add(simRenewSoon))
	}
	n.record()
}

// ping is one step of the search for a lost Redis.
func (n *simNode) ping() {
	n.nextPing = n.s.now.Add(simPingEvery)
	if t, ok := n.member.Term(); ok && t.Redis != "" && !n.limiter.LostIn(t.Number) {
		n.nextPing = n.nextPing.Add(simPingEvery) // Nothing is probed then.
	}
	n.limiter.Ping(context.Background())
	n.limiter.Invalidator().RemoveOver()
}

// due returns the server's next step and when it is.
func (n *simNode) due() (func(), time.Time) {
	switch {
	case n.frozen:
		return nil, time.Time{}
	case n.renewing || n.nextPing.Before(n.nextRenew):
		return n.ping, n.nextPing
	}
	return n.renew, n.nextRenew
}

// advance moves the clock to an instant, and lets every server do its steps and every fault end on
// the way.
func (s *simulation) advance(to time.Time) {
	s.skip(to)
	for {
		step, at := s.endOfFault()
		for _, n := range s.nodes {
			if f, due := n.due(); f != nil && (step == nil || due.Before(at)) {
				step, at = f, due
			}
		}
		if step == nil || at.After(to) {
			break
		}
		if at.After(s.now) {
			s.now = at
		}
		step()
		s.look()
		if s.depth > 0 && s.random.IntN(4) == 0 {
			s.anyRequest()
		}
	}
	if to.After(s.now) {
		s.now = to
	}
	s.look()
}

// skip leaves out steps in which nothing would happen, but for the last ones.
func (s *simulation) skip(to time.Time) {
	quiet := to.Add(-time.Second)
	if !s.now.Before(quiet) || len(s.faults) > 0 || s.depth > 0 || !s.settled() {
		return
	}
	for _, e := range s.postgres.state.Servers {
		if s.now.Sub(e.Seen) > cluster.Lease && s.now.Sub(e.Seen) < cluster.MemberTTL {
			return
		}
	}
	s.now = quiet
	s.skipping = true
	defer func() { s.skipping = false }()
	for _, n := range s.nodes {
		n.renew()
		n.nextRenew = s.now.Add(time.Duration(s.random.Int64N(int64(simRenewEvery))))
		n.nextPing = n.nextRenew
	}
}

// elapse lets time pass while a server waits for an answer.
func (s *simulation) elapse(n *simNode, d time.Duration) {
	n.waiting++
	s.depth++
	s.advance(s.now.Add(d))
	s.depth--
	n.waiting--
}

// interleave lets others answer requests before or after a call is carried out.
func (s *simulation) interleave(n *simNode) {
	if s.depth > 1 || s.skipping || s.random.IntN(12) > 0 {
		return
	}
	s.depth++
	n.waiting++
	for range 1 + s.random.IntN(3) {
		s.anyRequest()
	}
	n.waiting--
	s.depth--
}

// settled reports whether nothing is wrong: every server decides by the same Redis, which has what
// was counted.
func (s *simulation) settled() bool {
	state := s.postgres.state
	if s.postgres.away || s.redis.away || !state.Active || s.now.Before(state.Term.SilentUntil) ||
		state.Term.Redis != s.redis.fingerprint() ||
		s.flushUnnoticed() {
		return false
	}
	for _, n := range s.nodes {
		if n.frozen || n.cutRedis || n.cutPostgres || !n.member.Valid(state.Term.Number) ||
			n.limiter.LostIn(state.Term.Number) {
			return false
		}
	}
	return len(s.nodes) > 0
}

// flushUnnoticed reports whether a tenant was initialized in this term and is not in Redis, by a
// flush or because who initialized it went no further. The next request that calls Redis finds out.
func (s *simulation) flushUnnoticed() bool {
	number := s.postgres.state.Term.Number
	for _, t := range s.tenants {
		if s.postgres.Row(t.id, "").Term == number && s.redis.data.tenants[t.id].term != number {
			return true
		}
	}
	return false
}

// look tells the oracle when something is wrong. It checks only now and then whether that is over.
func (s *simulation) look() {
	if s.lastRelease || s.postgres.state.Term.NoMonths {
		s.oracle.monthsOff = s.now
		if !s.lastSetBack.IsZero() {
			s.oracle.monthsForgotten = s.now
		}
	}
	if s.now.Before(s.nextLook) {
		s.oracle.disturbed = s.now
	} else if !s.settled() {
		s.oracle.disturbed = s.now
		s.nextLook = s.now.Add(simLookEvery)
	}
}
