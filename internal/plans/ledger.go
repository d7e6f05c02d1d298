package plans

import "sync"

// ledger is what one server knows of its tenants' windows without asking Redis: what Redis last said, and what it
// admitted since without Redis. It holds the tenants that called today or yesterday, and no more.
type ledger struct {
	shards [shards]ledgerShard
}

type ledgerShard struct {
	mu       sync.Mutex
	day      int64
	accounts map[int64]*account
}

type account struct {
	minute, day tally
	// asking is how many requests Redis is being asked about: it may admit each of them.
	asking int64
	// outage numbers the last outage of which Redis has been told, as far as this tenant is concerned. After another one
	// it may have lost its counters, and has to be told what this server has seen.
	outage int64
	// untold is true when there is such a thing to tell.
	untold bool
	// sent is the batch on its way to Redis, nil for none. Its reply may be lost, so it is kept as it was sent.
	sent *batch
	// refusal is the last answer of Redis, if that was one; nil for none.
	refusal *refusal
}

// tally is one window of one tenant, as this server knows it.
type tally struct {
	number int64
	// seen is how much of the window was used when Redis last said so, own how much of that this server admitted.
	seen, own int64
	// local is how much this server admitted without Redis, and Redis has not been told.
	local int64
	// servers is the most servers seen alive while deciding in this window without Redis. It does not fall before the
	// window ends: a server that died has used its share.
	servers int64
}

// batch is what one server has to tell Redis of one tenant, once: what it admitted in the windows of those numbers
// without Redis, and what it had seen used.
type batch struct {
	tenantID    int64
	sequence    int64
	minute, day int64
	add, seen   used
}

func newLedger() *ledger {
	l := &ledger{}
	for i := range l.shards {
		l.shards[i].accounts = map[int64]*account{}
	}
	return l
}

// take decides within this server's share of what Redis last said was remaining.
//
// What one server saw last may be older than what another did, so that together they would admit more than remained. In
// the minute each therefore keeps to its part of the limit too, less what it has admitted already: where the load is
// even, together they never exceed it. In the day a tenant whose requests all reach one server would be shut out of it
// for long.
func (l *ledger) take(tenantID int64, q Quota, minute, day, servers int64) Decision {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(tenantID, minute, day)
	a.minute.servers, a.day.servers = max(a.minute.servers, servers), max(a.day.servers, servers)
	minuteLeft := min(a.minute.share(q.PerMinute-a.asking), a.minute.part(q.PerMinute)-a.asking) - a.minute.local
	dayLeft := a.day.share(q.PerDay-a.asking) - a.day.local
	c := Claim{TenantID: tenantID, Quota: q}
	d := decide(&c, a.minute.number, a.day.number, used{minute: q.PerMinute - minuteLeft, day: q.PerDay - dayLeft}, 1)
	d.Share = a.minute.servers > 1 || a.day.servers > 1
	if d.Admitted {
		a.minute.local++
		a.day.local++
	}
	return d
}

// refund gives back a request that this server admitted without Redis. One that was counted in Redis is given back
// here too, as long as this server has something of that window to give back; else the tenant does without it.
func (l *ledger) refund(tenantID int64, d Decision) {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[tenantID]
	if !ok {
		return
	}
	a.minute.giveBack(d.Minute.Number)
	a.day.giveBack(d.Day.Number)
}

// ask notes that Redis is about to be asked, and reports whether it has to be told something of this tenant before that.
// Each ask is followed by answered or unanswered. Outage numbers the last outage.
func (l *ledger) ask(tenantID, minute, day, outage int64) (owes bool) {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(tenantID, minute, day)
	if a.outage != outage {
		a.outage = outage
		a.untold = a.minute.seen > 0 || a.day.seen > 0
	}
	a.asking++
	return a.owes()
}

// answered notes what Redis made of a request in the windows of those numbers.
func (l *ledger) answered(tenantID, minute, day int64, u used, admitted bool) {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(tenantID, minute, day)
	a.asking = max(0, a.asking-1)
	var own int64
	if admitted {
		own = 1
		a.refusal = nil
	}
	a.minute.saw(minute, u.minute, own)
	a.day.saw(day, u.day, own)
}

func (l *ledger) unanswered(tenantID int64) {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.accounts[tenantID]; ok {
		a.asking = max(0, a.asking-1)
	}
}

// debtors returns the tenants of whom Redis has yet to be told something.
func (l *ledger) debtors() []int64 {
	var ids []int64
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for id, a := range s.accounts {
			if a.owes() {
				ids = append(ids, id)
			}
		}
		s.mu.Unlock()
	}
	return ids
}

// debt returns the batch to send for a tenant, false for none. A batch that was sent and not confirmed comes again, as
// it was; next numbers a new one.
func (l *ledger) debt(tenantID int64, next func() int64) (batch, bool) {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[tenantID]
	if !ok || !a.owes() {
		return batch{}, false
	}
	if a.sent == nil {
		a.sent = &batch{
			tenantID: tenantID, sequence: next(), minute: a.minute.number, day: a.day.number,
			add: used{minute: a.minute.local, day: a.day.local}, seen: used{minute: a.minute.seen, day: a.day.seen},
		}
	}
	return *a.sent, true
}

// settled notes that Redis has that batch, and what it said is used. Of all who sent the batch the first settles it.
func (l *ledger) settled(b batch, u used) {
	s := l.shard(b.tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[b.tenantID]
	if !ok || a.sent == nil || a.sent.sequence != b.sequence {
		return
	}
	a.sent, a.untold = nil, false
	a.minute.settled(b.minute, b.add.minute, u.minute)
	a.day.settled(b.day, b.add.day, u.day)
}

func (l *ledger) shard(tenantID int64) *ledgerShard { return &l.shards[uint64(tenantID)%shards] }

// account returns the tenant's account, its tallies moved on to the windows of those numbers, never back.
func (s *ledgerShard) account(tenantID, minute, day int64) *account {
	if day > s.day {
		s.forgetBefore(day - 1)
		s.day = day
	}
	a, ok := s.accounts[tenantID]
	if !ok {
		a = &account{minute: tally{number: minute}, day: tally{number: day}}
		s.accounts[tenantID] = a
	}
	a.minute.moveOn(minute)
	a.day.moveOn(day)
	return a
}

// forgetBefore drops the tenants that did not call since that day. It runs once a day.
func (s *ledgerShard) forgetBefore(day int64) {
	for id, a := range s.accounts {
		if a.day.number < day {
			delete(s.accounts, id)
		}
	}
}

func (a *account) owes() bool {
	return a.untold || a.sent != nil || a.minute.local > 0 || a.day.local > 0
}

// moveOn begins the window of that number. What the old one owes to Redis goes with it: no decision needs it any more.
func (t *tally) moveOn(number int64) {
	if number > t.number {
		*t = tally{number: number}
	}
}

// share is how much of what remained this server may admit without Redis. Rounded down: all shares together are at most
// what remained.
func (t *tally) share(limit int64) int64 { return max(0, limit-t.seen) / t.servers }

// part is this server's part of the whole limit, less what it has admitted; less than nothing when that was more.
func (t *tally) part(limit int64) int64 { return limit/t.servers - t.own }

// saw keeps the most that Redis said: replies may arrive out of order.
func (t *tally) saw(number, used, own int64) {
	if number == t.number {
		t.seen = max(t.seen, used)
		t.own += own
	}
}

func (t *tally) settled(number, added, used int64) {
	if number == t.number {
		t.local = max(0, t.local-added)
		t.saw(number, used, added)
	}
}

func (t *tally) giveBack(number int64) {
	if number == t.number && t.local > 0 {
		t.local--
	}
}
