package plans

import "time"

// refusalAge is how long a refusal by Redis is given again without asking. A refund by another server is seen so much
// later, in exchange for a flood that costs a round trip a second and not one a request.
const refusalAge = time.Second

// refusal is what Redis said when it last refused a tenant: as long as nothing that it depends on changes, it would say
// so again.
type refusal struct {
	quota       Quota
	minute, day int64
	used        used
	at          time.Time
	// outage is the one after which it was said: Redis may have lost its counters in another.
	outage int64
}

func (r *refusal) holds(q Quota, minute, day, outage int64, now time.Time) bool {
	return r != nil && r.quota == q && r.minute == minute && r.day == day && r.outage == outage &&
		now.Sub(r.at).Abs() < refusalAge
}

// refused returns the refusal that the tenant would get from Redis, false when Redis has to be asked.
func (l *ledger) refused(tenantID int64, q Quota, minute, day, outage int64, now time.Time) (Decision, bool) {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[tenantID]
	if !ok || !a.refusal.holds(q, minute, day, outage, now) {
		return Decision{}, false
	}
	c := Claim{TenantID: tenantID, Quota: q}
	return decide(&c, minute, day, a.refusal.used, 1), true
}

// remember keeps the last refusal; nil forgets it, because something was admitted or given back since.
func (l *ledger) remember(tenantID int64, r *refusal) {
	s := l.shard(tenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.accounts[tenantID]; ok {
		a.refusal = r
	}
}
