package diagnose

import (
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// Record is what is recorded about a key up to an instant.
type Record struct {
	Now    time.Time
	Key    keys.Key
	Tenant plans.Tenant
	// UsedToday is the number of the tenant's requests that were admitted on this UTC day.
	UsedToday int64
	// Month has this month's periods, if the tenant's quota has a month.
	Month usage.Month
	// Bans and Failed are the key's latest bans and failed requests, the newest first.
	Bans   []keys.Ban
	Failed []usage.FailedRequest
	// TenantRefusal is the latest refusal of any of the tenant's keys by the minute or the day, nil
	// for none.
	TenantRefusal *usage.FailedRequest
}

// Verdict returns the API's answer to the key's next request, in the key's environment. The
// counters of a minute are not recorded, so only the latest refusal shows that a minute is used up.
func (r *Record) Verdict() Verdict {
	c := &keys.Caller{
		KeyID: r.Key.ID, Environment: r.Key.Environment, ExpiresAt: r.Key.ExpiresAt,
		PerMinute: r.Key.PerMinute, Tenant: &r.Tenant, Ban: r.Ban(),
	}
	if !r.Key.RevokedAt.IsZero() {
		c.RevokedAt = r.Key.RevokedAt.Unix()
	}
	return Caller(c, r.Key.Environment, r.decision(), r.Now)
}

// decision returns the decision of the limits as far as it is recorded.
func (r *Record) decision() *limits.Decision {
	d := &limits.Decision{}
	d.Minute.Name, d.Minute.Limit = limits.Minute, r.Tenant.Quota.PerMinute
	d.Day.Name, d.Day.Limit, d.Day.Reset = limits.Day, r.Tenant.Quota.PerDay, r.DayEnd().Unix()
	d.Key.Name, d.Key.Limit = limits.Key, r.Key.PerMinute
	d.Day.Reached = r.UsedToday >= d.Day.Limit
	if limit, ok := r.Tenant.Quota.Month.Cap(); ok {
		d.Month.Name, d.Month.Limit, d.Month.Reset = limits.Month, limit, r.MonthEnd().Unix()
		d.Month.Reached = r.Month.Counted() >= limit
	}
	d.Admitted = !d.Day.Reached && !d.Month.Reached
	known := !d.Admitted
	for _, latest := range r.refusals() {
		if latest.Partial && known || r.Now.Unix() >= latest.Reset {
			continue
		}
		windows, count := d.Windows()
		for _, w := range windows[:count] {
			// A refusal under another limit says nothing about the present one.
			if string(w.Name) == latest.Window && (w.Limit == latest.Limit || latest.Partial) {
				w.Reached, w.Reset = true, latest.Reset
				d.Admitted, d.Partial = false, latest.Partial
			}
		}
	}
	return d
}

// IsShared reports whether the request was refused by a limit that all keys of the tenant share.
func IsShared(f *usage.FailedRequest) bool {
	return f.Window == string(limits.Minute) || f.Window == string(limits.Day) || f.Window == string(limits.Month)
}

// refusals returns the tenant's latest refusal by a limit that its keys share, and the key's latest
// by any limit.
func (r *Record) refusals() (list []*usage.FailedRequest) {
	if r.TenantRefusal != nil {
		list = append(list, r.TenantRefusal)
	}
	for i := range r.Failed {
		if r.Failed[i].Window != "" {
			return append(list, &r.Failed[i])
		}
	}
	return list
}

// LastRefusal is the key's latest refusal by a limit, which led to its ban. If none is stored, it
// returns a refusal by the key's lowest limit instead.
func (r *Record) LastRefusal() usage.FailedRequest {
	for _, f := range r.Failed {
		if f.Window != "" {
			return f
		}
	}
	if own := r.Key.PerMinute; own > 0 && own < r.Tenant.Quota.PerMinute {
		return usage.FailedRequest{Window: string(limits.Key), Limit: own}
	}
	return usage.FailedRequest{Window: string(limits.Minute), Limit: r.Tenant.Quota.PerMinute, Plan: r.Tenant.Plan}
}

// Ban returns the ban in force that ends last, nil for none.
func (r *Record) Ban() *keys.Ban {
	var last *keys.Ban
	for i := range r.Bans {
		if b := &r.Bans[i]; b.InForce(r.Now) && (last == nil || b.EndsAt.After(last.EndsAt)) {
			last = b
		}
	}
	return last
}

// DayEnd returns when the counter of the day resets.
func (r *Record) DayEnd() time.Time { return r.Now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour) }

// MonthEnd returns when the counter of the month resets.
func (r *Record) MonthEnd() time.Time { return usage.MonthStart(r.Now).AddDate(0, 1, 0) }
