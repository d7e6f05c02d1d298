package keys

import "time"

// Ban is a time during which one key is refused.
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

// BanSource says who placed a ban.
type BanSource string

// Bans are placed by the platform itself or by staff.
const (
	Automatic BanSource = "automatic"
	ByStaff   BanSource = "staff"
)

// Bans come after too many refusals within StrikePeriod; they grow for each earlier automatic ban of the same key,
// not lifted, that began within RepeatPeriod.
const (
	StrikePeriod = 5 * time.Minute
	RepeatPeriod = 7 * 24 * time.Hour
)

// AutomaticReason is why the platform bans by itself, in words for the customer.
const AutomaticReason = "it went on sending requests after 429"

// StrikeLimit returns how many refusals within StrikePeriod ban a key: as many as its tenant may call in a minute, but
// at least 30 and at most 1000.
func StrikeLimit(perMinute int64) int64 { return min(max(perMinute, 30), 1000) }

// BanLength returns how long an automatic ban lasts after that many earlier ones.
func BanLength(earlier int) time.Duration {
	switch earlier {
	case 0:
		return 15 * time.Minute
	case 1:
		return time.Hour
	}
	return 24 * time.Hour
}

// BanTimes returns when a ban placed at now for that long begins and ends: on whole seconds, as HTTP tells times, so that
// the customer and staff read the same. It begins with the second that runs, and a part of a second more counts as one.
func BanTimes(now time.Time, length time.Duration) (startsAt, endsAt time.Time) {
	startsAt = now.UTC().Truncate(time.Second)
	return startsAt, startsAt.Add((length + time.Second - 1).Truncate(time.Second))
}
