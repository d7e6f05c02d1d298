package usage

import (
	"cmp"
	"slices"

	"petstore.example/internal/plans"
)

// ReplayedTenant is the sum of a tenant's replayed days.
type ReplayedTenant struct {
	TenantID int64
	// Requests is the number of all requests, Refused the number that were actually refused.
	Requests, Refused int64
	// ByDay, ByMinute and ByMonth are the least numbers that the limits would have refused, Overage
	// is the most that would have been billed as overage.
	ByDay, ByMinute, ByMonth, Overage int64
	// More is the least number of additional requests that would have been refused, over the days
	// with any. DaysMore is the number of these days.
	More, DaysMore int64
}

// Least is the least number of requests that the limits would have refused.
func (t ReplayedTenant) Least() int64 { return t.ByMinute + t.ByDay + t.ByMonth }

func (t *ReplayedTenant) add(d ReplayedDay) {
	t.Requests += d.Requests
	t.Refused += d.Refused
	t.ByDay += d.ByDay
	t.ByMinute += d.ByMinute
	t.ByMonth += d.ByMonth
	t.Overage += d.Overage
	if more := d.More(); more > 0 {
		t.More += more
		t.DaysMore++
	}
}

// TenantsReplay replays the usage of many tenants under the same limits.
type TenantsReplay struct {
	limits  plans.Quota
	tenants map[int64]*tenantReplay
}

type tenantReplay struct {
	Replayer
	ReplayedTenant
}

// NewTenantsReplay returns a replay under these limits.
func NewTenantsReplay(limits plans.Quota) *TenantsReplay {
	return &TenantsReplay{limits, map[int64]*tenantReplay{}}
}

// Add replays a tenant's day. The days of each tenant must be added in ascending order.
func (r *TenantsReplay) Add(tenantID int64, d RecordedDay) {
	t := r.tenants[tenantID]
	if t == nil {
		t = &tenantReplay{Replayer{Quota: r.limits}, ReplayedTenant{TenantID: tenantID}}
		r.tenants[tenantID] = t
	}
	t.add(t.Day(d))
}

// Affected returns the tenants that would have had more requests refused, the most affected first,
// and then those that would have been billed overage.
func (r *TenantsReplay) Affected() []ReplayedTenant {
	var affected []ReplayedTenant
	for _, t := range r.tenants {
		if t.More > 0 || t.Overage > 0 {
			affected = append(affected, t.ReplayedTenant)
		}
	}
	slices.SortFunc(affected, func(a, b ReplayedTenant) int {
		return cmp.Or(
			cmp.Compare(b.More, a.More),
			cmp.Compare(b.Overage, a.Overage),
			cmp.Compare(a.TenantID, b.TenantID),
		)
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
		sum.ByMonth += t.ByMonth
		sum.Overage += t.Overage
		sum.More += t.More
		sum.DaysMore += t.DaysMore
	}
	return sum, int64(len(r.tenants))
}
