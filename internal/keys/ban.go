package keys

import "time"

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
	// LiftedAt is zero for a ban that was not lifted before its end.
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

// A key is banned after StrikeLimit refusals within StrikePeriod. Automatic bans of the key that started
// within RepeatPeriod and were not lifted make the next one longer.
const (
	StrikePeriod = 5 * time.Minute
	RepeatPeriod = 7 * 24 * time.Hour
)

// AutomaticReason is the reason of automatic bans. Customers read it.
const AutomaticReason = "it went on sending requests after 429"

// StrikeLimit returns how many refusals within StrikePeriod ban a key: the tenant's requests per minute, but
// at least 30 and at most 1000.
func StrikeLimit(perMinute int64) int64 { return min(max(perMinute, 30), 1000) }

// BanDuration returns how long an automatic ban lasts if the key had that many before.
func BanDuration(earlier int) time.Duration {
	switch earlier {
	case 0:
		return 15 * time.Minute
	case 1:
		return time.Hour
	}
	return 24 * time.Hour
}

// BanTimes returns the start and the end of a ban that is placed at now. Both are whole seconds, as in HTTP,
// so that customers and staff read the same times: the start is rounded down and the duration up.
func BanTimes(now time.Time, duration time.Duration) (startsAt, endsAt time.Time) {
	startsAt = now.UTC().Truncate(time.Second)
	return startsAt, startsAt.Add((duration + time.Second - 1).Truncate(time.Second))
}
