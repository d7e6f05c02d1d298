package usage

import (
	"cmp"
	"slices"
)

// ReplayedTenant is the sum of a tenant's replayed days.
type ReplayedTenant struct {
	TenantID int64
	// Requests is the number of all requests, Refused of those that were refused in fact.
	Requests, Refused int64
	// ByDay and ByMinute are how many the limits would have refused, at least.
	ByDay, ByMinute int64
	// More is how many more than in fact would have been refused, at least, on the days with more;
	// DaysMore is the number of these days.
	More, DaysMore int64
}

func (t *ReplayedTenant) add(d ReplayedDay) {
	t.Requests += d.Requests
	t.Refused += d.Refused
	t.ByDay += d.ByDay
	t.ByMinute += d.ByMinute
	if more := d.More(); more > 0 {
		t.More += more
		t.DaysMore++
	}
}

// TenantsReplay replays the usage of many tenants under the same limits.
type TenantsReplay struct {
	perMinute, perDay int64
	tenants           map[int64]*tenantReplay
}

type tenantReplay struct {
	Replayer
	ReplayedTenant
}

// NewTenantsReplay returns a replay under these limits.
func NewTenantsReplay(perMinute, perDay int64) *TenantsReplay {
	return &TenantsReplay{perMinute, perDay, map[int64]*tenantReplay{}}
}

// Add replays a tenant's day. The days of each tenant must be added in ascending order.
func (r *TenantsReplay) Add(tenantID int64, d RecordedDay) {
	t := r.tenants[tenantID]
	if t == nil {
		t = &tenantReplay{Replayer{PerMinute: r.perMinute, PerDay: r.perDay}, ReplayedTenant{TenantID: tenantID}}
		r.tenants[tenantID] = t
	}
	t.add(t.Day(d))
}

// Affected returns the tenants that would have had more requests refused, the most affected first.
func (r *TenantsReplay) Affected() []ReplayedTenant {
	var affected []ReplayedTenant
	for _, t := range r.tenants {
		if t.More > 0 {
			affected = append(affected, t.ReplayedTenant)
		}
	}
	slices.SortFunc(affected, func(a, b ReplayedTenant) int {
		return cmp.Or(cmp.Compare(b.More, a.More), cmp.Compare(a.TenantID, b.TenantID))
	})
	return affected
}

// Sum returns the sum of all tenants, and their number. The sum has no TenantID.
func (r *TenantsReplay) Sum() (sum ReplayedTenant, tenants int64) {
	for _, t := range r.tenants {
		sum.Requests += t.Requests
		sum.Refused += t.Refused
		sum.ByDay += t.ByDay
		sum.ByMinute += t.ByMinute
		sum.More += t.More
		sum.DaysMore += t.DaysMore
	}
	return sum, int64(len(r.tenants))
}
