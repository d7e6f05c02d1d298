package diagnose

import (
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
)

// The codes of a Verdict are the API's error codes, and Admitted. Scripts rely on them.
const (
	Admitted             = "admitted"
	InvalidAPIKey        = "invalid_api_key"
	KeyBanned            = "key_banned"
	RateLimitExceeded    = "rate_limit_exceeded"
	DailyQuotaExceeded   = "daily_quota_exceeded"
	MonthlyQuotaExceeded = "monthly_quota_exceeded"
)

// The reasons of a Verdict, in addition to the statuses of a key (package keys) and the names of
// windows (package limits).
const (
	Banned = "banned"
	// Partial: one server's share of a limit is used up while the servers can't share their
	// counters.
	Partial = "partial"
)

// Verdict is the API's answer to a request of a caller.
type Verdict struct {
	Code string
	// Reason is a status of the key, Banned, Partial or the name of the refusing window; empty for
	// Admitted.
	Reason string
	// Until is the time at which the verdict changes by itself, zero for never.
	Until time.Time
}

// Caller returns the verdict on a request in that environment, given the decision d of the limits.
func Caller(c *keys.Caller, env keys.Environment, d *limits.Decision, now time.Time) Verdict {
	if status := c.Status(env, now); status != keys.Active {
		return Verdict{Code: InvalidAPIKey, Reason: string(status)}
	}
	if ban := c.Banned(now); ban != nil {
		return Verdict{Code: KeyBanned, Reason: Banned, Until: ban.EndsAt}
	}
	if d.Admitted {
		return Verdict{Code: Admitted}
	}
	w := d.Binding()
	v := Verdict{Code: RateLimitExceeded, Reason: string(w.Name), Until: time.Unix(w.Reset, 0)}
	switch w.Name {
	case limits.Day:
		v.Code = DailyQuotaExceeded
	case limits.Month:
		v.Code = MonthlyQuotaExceeded
	}
	if d.Partial {
		v.Reason = Partial
	}
	return v
}
