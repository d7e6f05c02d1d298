package keys

import (
	"math"
	"time"
)

// Ban is a period during which one key is refused.
type Ban struct {
	ID         int64
	TenantID   int64
	TenantName string
	KeyID      string
	Source     BanSource
	// Reason is shown to the customer.
	Reason   string
	StartsAt time.Time
	EndsAt   time.Time
	// LiftedAt is zero if the ban was not lifted before its end.
	LiftedAt time.Time
}

// InForce reports whether the ban was neither lifted nor has ended.
func (b *Ban) InForce(now time.Time) bool { return b.LiftedAt.IsZero() && now.Before(b.EndsAt) }

// BanSource says who placed a ban.
type BanSource string

// Bans are placed by the platform itself or by staff.
const (
	Automatic BanSource = "automatic"
	ByStaff   BanSource = "staff"
)

// AutomaticReason is the reason of automatic bans. Customers read it.
const AutomaticReason = "it went on sending requests after 429"

// MostRefusals returns how often limits may refuse a key, on one server within one minute window,
// before it is banned: 10 times the key's limit per minute, at least 1,000. That limit is the lower
// of perMinute, the limit of its tenant, and own, the key's own limit (0 for none). So 1,000
// clients that wait for Retry-After are never banned.
func MostRefusals(perMinute, own int64) int64 {
	if own > 0 {
		perMinute = min(perMinute, own)
	}
	return max(1000, 10*min(perMinute, math.MaxInt64/10))
}

// BanTimes returns the start and the end of a ban placed at now. Both are whole seconds, as in
// HTTP, so that customers and staff read the same times: the start is rounded down and the duration
// up.
func BanTimes(now time.Time, duration time.Duration) (startsAt, endsAt time.Time) {
	startsAt = now.UTC().Truncate(time.Second)
	return startsAt, startsAt.Add((duration + time.Second - 1).Truncate(time.Second))
}
