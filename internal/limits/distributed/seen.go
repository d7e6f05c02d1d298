package distributed

import (
	"sync"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

// shards is the number of locks, so that tenants rarely wait for each other.
const shards = 64

// seen is what one server knows of its tenants' windows without asking: the last use that Redis
// replied, the denials, and this server's grants. It keeps the tenants that called today or
// yesterday.
type seen struct {
	shards [shards]seenShard
}

type seenShard struct {
	mu      sync.Mutex
	day     int64
	tenants map[int64]*tenantState
}

// tenantState is the state of one tenant.
type tenantState struct {
	day int64
	// term is the term of the latest reply of Redis.
	term   int64
	latest counter.Baseline
	// initialized is the last term in which the tenant's count had surely begun. initializing is
	// not nil while this server initializes it.
	initialized  int64
	initializing chan struct{}
	reported     reportedRemaining
	// others is the state of all keys without a limit of their own; keys has one for each other
	// key.
	others claimState
	keys   map[string]*claimState
}

// claimState is the state of one kind of claims of a tenant: those of one key with a limit of its
// own, or of all other keys.
type claimState struct {
	// term is the term in which Redis said how much is used of the key's own minute.
	term, minute, used int64
	denial             denial
	pool               grantPool
	// reported is the reported use of the key's own minute, in the tenant's term.
	reported reportedWindow
}

func newSeen() *seen {
	v := &seen{}
	for i := range v.shards {
		v.shards[i].tenants = map[int64]*tenantState{}
	}
	return v
}

func (v *seen) shard(tenantID int64) *seenShard { return &v.shards[uint64(tenantID)%shards] }

// known returns what this server knows to be used of these windows.
func (v *seen) known(c *limits.Claim, minute, day, month int64) (u limits.Used) {
	s := v.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.tenants[c.TenantID]
	if !ok {
		return u
	}
	if a.latest.Minute == minute {
		u.Minute = a.latest.MinuteUsed
	}
	if a.latest.Day == day {
		u.Day = a.latest.DayUsed
	}
	if a.latest.Month == month {
		u.Month = a.latest.MonthUsed
	}
	if st := a.claims(c); st.minute == minute {
		u.Key = st.used
	}
	return u
}

// tenant returns the tenant's state, which is kept until the end of the day after that one.
func (s *seenShard) tenant(tenantID, day int64) *tenantState {
	if day > s.day {
		s.forgetBefore(day - 1)
		s.day = day
	}
	a, ok := s.tenants[tenantID]
	if !ok {
		a = &tenantState{}
		s.tenants[tenantID] = a
	}
	a.day = max(a.day, day)
	return a
}

// forgetBefore drops the tenants that last called before that day, unless they have requests of the
// month to give back. It runs once a day.
func (s *seenShard) forgetBefore(day int64) {
	month := limits.MonthAt(time.Unix(limits.DayReset(day), 0))
	for id, a := range s.tenants {
		if a.day < day && a.initializing == nil && !a.owes(month) {
			delete(s.tenants, id)
		}
	}
}

// owes reports whether a pool would give back requests of that month.
func (a *tenantState) owes(month int64) bool {
	if a.others.pool.owes(month) {
		return true
	}
	for _, st := range a.keys {
		if st.pool.owes(month) {
			return true
		}
	}
	return false
}

// claims returns the state of the claim's kind.
func (a *tenantState) claims(c *limits.Claim) *claimState {
	if c.KeyPerMinute <= 0 {
		return &a.others
	}
	st, ok := a.keys[c.KeyID]
	if !ok {
		if a.keys == nil {
			a.keys = map[string]*claimState{}
		}
		st = &claimState{}
		a.keys[c.KeyID] = st
	}
	return st
}

// observe keeps the latest reply of Redis. A reply that was overtaken may have lower counts than
// the one before.
func (a *tenantState) observe(term, minute, day, month int64, u limits.Used) {
	a.term, a.initialized = term, term
	a.latest = counter.Baseline{
		Minute: minute, MinuteUsed: u.Minute, Day: day, DayUsed: u.Day, Month: month, MonthUsed: u.Month,
	}
}

func (st *claimState) observe(term, minute, used int64) {
	if st.term != term || minute >= st.minute {
		st.term, st.minute, st.used = term, minute, used
	}
}

// report lowers what the decision reports for claims of that kind to what was reported before.
func (a *tenantState) report(term int64, st *claimState, d *limits.Decision) {
	if a.reported.term != term {
		for _, of := range a.keys {
			of.reported = reportedWindow{}
		}
	}
	a.reported.lower(term, d)
	if d.Key.Limit > 0 {
		st.reported.lower(&d.Key)
	}
}
