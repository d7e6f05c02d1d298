package distributed

import (
	"sync"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
)

// shards is the number of locks, so that tenants rarely wait for each other.
const shards = 64

// localView is what one server knows of its tenants' windows without asking: what Redis last said was used, what was denied, and the
// grants that this server holds. It keeps the tenants that called today or yesterday.
//
// A reply is accepted under the lock of its tenant's shard while its term is in force. When the cluster says that a term is over, its
// reports are made under the same locks: so nothing is accepted that is not reported.
type localView struct {
	shards [shards]viewShard
}

type viewShard struct {
	mu      sync.Mutex
	day     int64
	tenants map[int64]*tenantState
}

// tenantState is of one tenant.
type tenantState struct {
	day int64
	// term is the one in which Redis reported highWater, the most that was used, and latest, which is less after refunds; 0 if there
	// is nothing to report.
	term              int64
	highWater, latest counter.Baseline
	news              news
	// granted is the most that was used of current windows when this server got a grant, the grant included.
	granted counter.Baseline
	// initialized is the last term in which the tenant's count had surely begun. initializing is not nil while this server
	// initializes it.
	initialized  int64
	initializing chan struct{}
	reported     reportedRemaining
	// unknown is what the durable counters said in unknownIn, a term, to be unknown of its windows.
	unknown   counter.Baseline
	unknownIn int64
	// others is for keys without a limit of their own, keys for those that have one.
	others claimState
	keys   map[string]*claimState
}

// claimState is of one kind of claims of a tenant: of one key with a limit of its own, or of all other keys.
type claimState struct {
	// term, minute and used are the most that Redis reported of the key's own minute, latest what it reported last.
	term, minute, used int64
	latest             int64
	news               news
	denial             denial
	pool               grantPool
	// granted is of the key's own minute, like the tenant's.
	granted counter.Baseline
	// reported is of the key's own minute, in the term of the tenant's.
	reported reportedWindow
	// unknown is what the durable counters said in unknownIn, a term, to be unknown of the key's own minute unknownOf.
	unknown, unknownOf, unknownIn int64
}

func newLocalView() *localView {
	v := &localView{}
	for i := range v.shards {
		v.shards[i].tenants = map[int64]*tenantState{}
	}
	return v
}

func (v *localView) shard(tenantID int64) *viewShard { return &v.shards[uint64(tenantID)%shards] }

// each calls f for every tenant, with its shard locked.
func (v *localView) each(f func(tenantID int64, a *tenantState)) {
	for i := range v.shards {
		s := &v.shards[i]
		s.mu.Lock()
		for id, a := range s.tenants {
			f(id, a)
		}
		s.mu.Unlock()
	}
}

// known returns what this server knows to be used of these windows.
func (v *localView) known(c *limits.Claim, minute, day int64) (u limits.Used) {
	s := v.shard(c.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.tenants[c.TenantID]
	if !ok {
		return u
	}
	if a.highWater.Minute == minute {
		u.Minute = a.highWater.MinuteUsed
	}
	if a.highWater.Day == day {
		u.Day = a.highWater.DayUsed
	}
	if st := a.claims(c); st.minute == minute {
		u.Key = st.used
	}
	return u
}

// learn keeps what the durable counters say in a term to be unknown of a claim's windows.
func (a *tenantState) learn(term int64, c *limits.Claim, b counter.Baseline) {
	a.unknown, a.unknownIn = b, term
	if c.KeyPerMinute > 0 {
		st := a.claims(c)
		st.unknown, st.unknownOf, st.unknownIn = b.Unknown.Key, b.Minute, term
	}
}

// knowsUnknown reports whether the durable counters have said in a term what is unknown of the windows that refuse d, a decision over claims
// of that kind.
func (a *tenantState) knowsUnknown(term int64, st *claimState, d *limits.Decision) bool {
	return a.unknownIn == term && (!d.Key.Reached || st.unknownIn == term)
}

// doubt makes a refusal of a term undecided that is not known to be right. u is what the decision was made from.
func (a *tenantState) doubt(term int64, st *claimState, d *limits.Decision, u limits.Used) {
	if d.Admitted || !a.knowsUnknown(term, st, d) {
		return
	}
	unknown := a.unknown.Unknown
	if unknown.Key = st.unknown; st.unknownIn != term || st.unknownOf != d.Minute.Number {
		unknown.Key = 0
	}
	if a.unknown.Minute != d.Minute.Number {
		unknown.Minute = 0
	}
	if a.unknown.Day != d.Day.Number {
		unknown.Day = 0
	}
	d.Doubt(u, unknown)
}

// tenant returns the tenant's state, which is kept until that day and the next are over.
func (s *viewShard) tenant(tenantID, day int64) *tenantState {
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

// forgetBefore drops the tenants that did not call since that day. It runs once a day.
func (s *viewShard) forgetBefore(day int64) {
	for id, a := range s.tenants {
		if a.day < day && a.initializing == nil {
			delete(s.tenants, id)
		}
	}
}

// claims returns the state of a claim's kind.
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

// observe keeps the most that Redis reported: replies may arrive out of order.
func (a *tenantState) observe(term, minute, day int64, u limits.Used) {
	before := a.highWater
	if a.term != term {
		before = counter.Baseline{}
		a.term, a.initialized = term, term
		a.highWater = counter.Baseline{Minute: minute, Day: day}
	}
	a.latest = counter.Baseline{Minute: minute, MinuteUsed: u.Minute, Day: day, DayUsed: u.Day}
	a.highWater = raised(a.highWater, a.latest)
	if a.highWater != before {
		a.news = news{unreported: true, recent: true}
	}
}

// raised returns the most that is used by both baselines, in the later windows.
func raised(b, o counter.Baseline) counter.Baseline {
	if o.Minute > b.Minute {
		b.Minute, b.MinuteUsed, b.KeyUsed = o.Minute, 0, 0
	}
	if o.Day > b.Day {
		b.Day, b.DayUsed = o.Day, 0
	}
	if o.Minute == b.Minute {
		b.MinuteUsed, b.KeyUsed = max(b.MinuteUsed, o.MinuteUsed), max(b.KeyUsed, o.KeyUsed)
	}
	if o.Day == b.Day {
		b.DayUsed = max(b.DayUsed, o.DayUsed)
	}
	return b
}

// all returns reports of everything that this server knows, whichever terms it is of.
func (v *localView) all() []counter.Report {
	var reports []counter.Report
	v.each(func(tenantID int64, a *tenantState) {
		reports = append(reports, counter.Report{TenantID: tenantID, Seen: raised(a.highWater, a.granted)})
		for keyID, st := range a.keys {
			seen := raised(counter.Baseline{Minute: st.minute, KeyUsed: st.used}, st.granted)
			reports = append(reports, counter.Report{TenantID: tenantID, KeyID: keyID, Seen: seen})
		}
	})
	return reports
}

func (st *claimState) observe(term, minute, used int64) {
	if st.term != term || minute > st.minute {
		st.term, st.minute, st.used = term, minute, 0
		st.news = news{unreported: true, recent: true}
	}
	if minute == st.minute && used > st.used {
		st.used = used
		st.news = news{unreported: true, recent: true}
	}
	if minute == st.minute {
		st.latest = used
	}
}

// report lowers what a decision over claims of that kind reports to what was reported before.
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
