package plans

import (
	"sync"

	"petstore.example/internal/cluster"
)

// ledger is what one server knows of its tenants' windows without asking: what Redis last said was used, what was refused, and
// the grants that it holds. It keeps the tenants that called today or yesterday, and no more.
//
// What comes from an answer is accepted under the lock of the tenant's shard while its term is in force. Once the cluster says that
// a term is over, close takes the same locks: so nothing is accepted that is not reported.
type ledger struct {
	cluster Cluster
	shards  [shards]ledgerShard
}

type ledgerShard struct {
	mu       sync.Mutex
	day      int64
	accounts map[int64]*account
}

// account is of one tenant.
type account struct {
	day int64
	// term is the one in which Redis said what was seen used, the most and the latest, which is less after refunds; 0 when nothing
	// is to be reported.
	term         int64
	seen, latest Baseline
	// opened is the last term in which the tenant's count had surely begun; opening is not nil while this server begins it.
	opened  int64
	opening chan struct{}
	shown   shown
	// tenant is for keys without a limit of their own, keys for the others.
	tenant state
	keys   map[string]*state
}

// state is of one kind of claims of a tenant: of one key with a limit of its own, or of all others.
type state struct {
	// term, minute and used are the most that Redis said of the key's own minute, latest what it said last.
	term, minute, used int64
	latest             int64
	refusal            refusal
	pool               pool
	// shown is of the key's own minute, in the term of the tenant's.
	shown shownWindow
}

func newLedger(f Cluster) *ledger {
	l := &ledger{cluster: f}
	for i := range l.shards {
		l.shards[i].accounts = map[int64]*account{}
	}
	return l
}

// accept takes an answer of Redis down, and reports whether it still counts. A refusal in it is kept as f says, unless f is nil.
func (l *ledger) accept(term int64, k *ask, f *refusal) bool {
	s := l.shard(k.claim.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.cluster.Valid(term) {
		return false
	}
	if k.status != counted {
		return true
	}
	a := s.account(k.claim.TenantID, k.inDay)
	u, fits := k.after()
	a.saw(term, k.inMinute, k.inDay, u)
	a.latest = Baseline{Minute: k.inMinute, MinuteUsed: u.minute, Day: k.inDay, DayUsed: u.day}
	st := a.state(&k.claim)
	if k.claim.KeyPerMinute > 0 {
		st.saw(term, k.inMinute, u.key)
		st.latest = u.key
	}
	if f != nil && fits < k.count {
		f.term, f.minute, f.day, f.used = term, k.inMinute, k.inDay, u
		f.quota, f.perKey = k.claim.Quota, k.claim.KeyPerMinute
		st.refusal = *f
	}
	return true
}

// saw keeps the most that Redis said: answers may arrive out of order.
func (a *account) saw(term, minute, day int64, u used) {
	if a.term != term {
		a.term, a.opened = term, term
		a.seen = Baseline{Minute: minute, Day: day}
	}
	if minute > a.seen.Minute {
		a.seen.Minute, a.seen.MinuteUsed = minute, 0
	}
	if day > a.seen.Day {
		a.seen.Day, a.seen.DayUsed = day, 0
	}
	if minute == a.seen.Minute {
		a.seen.MinuteUsed = max(a.seen.MinuteUsed, u.minute)
	}
	if day == a.seen.Day {
		a.seen.DayUsed = max(a.seen.DayUsed, u.day)
	}
}

func (st *state) saw(term, minute, used int64) {
	if st.term != term || minute > st.minute {
		st.term, st.minute, st.used = term, minute, 0
	}
	if minute == st.minute {
		st.used = max(st.used, used)
	}
}

// open returns what ends the opening of the ask's tenant or key by this server, nil when there is nothing to open: somebody else of
// this server has just done so, or known is true.
func (l *ledger) open(term int64, k *ask) (done func(), known bool) {
	s := l.shard(k.claim.TenantID)
	s.mu.Lock()
	a := s.account(k.claim.TenantID, k.day)
	if a.opened == term && k.status == unopened {
		s.mu.Unlock()
		return nil, true
	}
	if other := a.opening; other != nil {
		s.mu.Unlock()
		<-other
		return nil, false
	}
	defer s.mu.Unlock()
	opening := make(chan struct{})
	a.opening = opening
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.opening = nil
		close(opening)
	}, false
}

// opened notes that the tenant's count has begun in a term.
func (l *ledger) opened(term, tenantID int64) {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.accounts[tenantID]; ok {
		a.opened = max(a.opened, term)
	}
}

// counted reports whether Redis has answered for the tenant in a term.
func (l *ledger) counted(term, tenantID int64) bool {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[tenantID]
	return ok && a.term == term
}

// known returns what this server knows to be used of the windows of those numbers.
func (l *ledger) known(c *Claim, minute, day int64) (u used) {
	s := l.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[c.TenantID]
	if !ok {
		return u
	}
	if a.seen.Minute == minute {
		u.minute = a.seen.MinuteUsed
	}
	if a.seen.Day == day {
		u.day = a.seen.DayUsed
	}
	if st := a.state(c); st.minute == minute {
		u.key = st.used
	}
	return u
}

// close returns what is to be reported of a term that is over. What was seen comes again until reported; what is given back comes
// once.
func (l *ledger) close(t *cluster.Term) (reports []Report) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for id, a := range s.accounts {
			reports = a.close(t.Number, id, reports)
		}
		s.mu.Unlock()
	}
	return reports
}

func (a *account) close(term, tenantID int64, reports []Report) []Report {
	of := Report{TenantID: tenantID, Term: term, Returns: a.tenant.pool.close(term)}
	if a.term == term {
		of.Seen = a.seen
	}
	if a.term == term || len(of.Returns) > 0 {
		reports = append(reports, of)
	}
	for keyID, st := range a.keys {
		of := Report{TenantID: tenantID, KeyID: keyID, Term: term, Returns: st.pool.close(term)}
		if st.term == term {
			of.Seen = Baseline{Minute: st.minute, KeyUsed: st.used}
		}
		if st.term == term || len(of.Returns) > 0 {
			reports = append(reports, of)
		}
	}
	return reports
}

// reported forgets what was seen in a term and has been reported.
func (l *ledger) reported(term int64) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		for _, a := range s.accounts {
			if a.term == term {
				a.term = 0
			}
			for _, st := range a.keys {
				if st.term == term {
					st.term = 0
				}
			}
		}
		s.mu.Unlock()
	}
}

func (l *ledger) shard(tenantID int64) *ledgerShard { return &l.shards[uint64(tenantID)%shards] }

// account returns the tenant's account, which is kept until that day and the next are over.
func (s *ledgerShard) account(tenantID, day int64) *account {
	if day > s.day {
		s.forgetBefore(day - 1)
		s.day = day
	}
	a, ok := s.accounts[tenantID]
	if !ok {
		a = &account{}
		s.accounts[tenantID] = a
	}
	a.day = max(a.day, day)
	return a
}

// forgetBefore drops the tenants that did not call since that day. It runs once a day.
func (s *ledgerShard) forgetBefore(day int64) {
	for id, a := range s.accounts {
		if a.day < day && a.opening == nil {
			delete(s.accounts, id)
		}
	}
}

// state returns that of a claim's kind.
func (a *account) state(c *Claim) *state {
	if c.KeyPerMinute <= 0 {
		return &a.tenant
	}
	st, ok := a.keys[c.KeyID]
	if !ok {
		if a.keys == nil {
			a.keys = map[string]*state{}
		}
		st = &state{}
		a.keys[c.KeyID] = st
	}
	return st
}
