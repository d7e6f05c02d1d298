package distributed

import (
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// denialAge is how long a denial is repeated without asking while this server does not hear of refunds.
const denialAge = time.Second

// denial is why a claim was last refused. As long as nothing that it depends on changes, it would be refused again. The zero denial is
// valid for nothing.
type denial struct {
	// term is the one in which it was made. session is the subscription that would have announced a refund to this server since before
	// then, 0 for none.
	term, session int64
	quota         plans.Quota
	perKey        int64
	minute, day   int64
	used          limits.Used
	at            time.Time
	// partial is true if other servers may hold what remains.
	partial bool
}

// validFor returns what is used of the windows at now, and false if the denial is no longer valid.
func (f *denial) validFor(term, session int64, c *limits.Claim, minute, day int64, now time.Time) (limits.Used, bool) {
	if f.term != term || f.term == 0 || f.quota != c.Quota || f.perKey != c.KeyPerMinute || day > f.day {
		return limits.Used{}, false
	}
	if subscribed := session != 0 && f.session == session; !subscribed && now.Sub(f.at).Abs() >= denialAge {
		return limits.Used{}, false
	}
	if minute <= f.minute {
		return f.used, true
	}
	// A new minute is empty: nothing was admitted while the day is full.
	return limits.Used{Day: f.used.Day}, f.used.Day >= f.quota.PerDay
}
