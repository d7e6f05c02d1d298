package main

import (
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

func TestStrikesAreThoseTowardsTheNextBan(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration, window string, suppressed int64) usage.RefusalRecord {
		return usage.RefusalRecord{Refusal: usage.Refusal{At: testNow.Add(-ago), Window: window}, Suppressed: suppressed}
	}
	shared := at(time.Second, "minute", 9)
	shared.Partial = true
	s := standing{now: testNow, refusals: []usage.RefusalRecord{
		at(time.Second, "minute", 4), shared, at(2*time.Second, "", 100), at(time.Minute, "day", 0), at(2*time.Minute, "key", 1),
		at(5*time.Minute, "minute", 7),
	}}
	if got := s.strikes(); got != 8 {
		t.Errorf("%d strikes, want 8", got)
	}
	s.bans = []keys.Ban{{Source: keys.ByStaff, StartsAt: testNow.Add(-time.Second)}}
	if got := s.strikes(); got != 8 {
		t.Errorf("%d strikes after a ban by staff, want 8", got)
	}
	s.bans = []keys.Ban{{Source: keys.Automatic, StartsAt: testNow.Add(-90 * time.Second)}}
	if got := s.strikes(); got != 6 {
		t.Errorf("%d strikes after a ban, want 6", got)
	}
}

func TestRefusingIsTheLatestWhileItsLimitHolds(t *testing.T) {
	t.Parallel()
	r := usage.RefusalRecord{Refusal: usage.Refusal{Window: "minute", Limit: 60, Reset: testNow.Unix() + 1}}
	s := standing{now: testNow, tenant: plans.Tenant{Quota: plans.Quota{PerMinute: 60, PerDay: 1000}}, refusals: []usage.RefusalRecord{r}}
	if s.refusing() == nil {
		t.Error("before the window resets it refuses")
	}
	later, upgraded, banned := s, s, s
	later.now = testNow.Add(time.Second)
	upgraded.tenant.Quota.PerMinute = 300
	banned.refusals = []usage.RefusalRecord{{Refusal: usage.Refusal{Code: "key_banned", Reset: r.Reset}}, r}
	for name, s := range map[string]standing{"at the reset": later, "after an upgrade": upgraded, "after a ban": banned} {
		if s.refusing() != nil {
			t.Errorf("%s a window refuses", name)
		}
	}
}
