package diagnose_test

import (
	"testing"
	"time"

	"petstore.example/internal/diagnose"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

var now = time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)

// refusal is one of the minute, which resets in a second.
func refusal(change func(*usage.FailedRequest)) usage.FailedRequest {
	r := usage.FailedRequest{At: now, Window: "minute", Limit: 60, Reset: now.Unix() + 1}
	change(&r)
	return r
}

// TestVerdict: each step removes what decided the one before.
func TestVerdict(t *testing.T) {
	t.Parallel()
	ban := keys.Ban{EndsAt: now.Add(time.Hour)}
	r := diagnose.Record{
		Now:       now,
		Key:       keys.Key{RevokedAt: now, ExpiresAt: now, Environment: keys.Test, PerMinute: 5},
		Tenant:    plans.Tenant{SuspendedAt: now, Quota: plans.Quota{PerMinute: 60, PerDay: 1000}},
		UsedToday: 1000,
		Bans:      []keys.Ban{{EndsAt: now.Add(2 * time.Hour), LiftedAt: now}, ban, {EndsAt: now.Add(time.Minute)}},
		Failed:    []usage.FailedRequest{refusal(func(r *usage.FailedRequest) { r.Partial, r.Limit = true, 20 })},
	}
	refused := func(change func(*usage.FailedRequest)) func() {
		return func() { r.Failed[0] = refusal(change) }
	}
	soon, tomorrow := now.Add(time.Second), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		change func()
		want   diagnose.Verdict
	}{
		{func() {}, diagnose.Verdict{Code: "invalid_api_key", Reason: "revoked"}},
		{func() { r.Key.RevokedAt = time.Time{} }, diagnose.Verdict{Code: "invalid_api_key", Reason: "expired"}},
		{func() { r.Key.ExpiresAt = soon }, diagnose.Verdict{Code: "invalid_api_key", Reason: "tenant_suspended"}},
		{func() { r.Tenant.SuspendedAt = time.Time{} },
			diagnose.Verdict{Code: "key_banned", Reason: "banned", Until: ban.EndsAt}},
		{func() { r.Bans = nil }, diagnose.Verdict{Code: "daily_quota_exceeded", Reason: "day", Until: tomorrow}},
		{func() { r.UsedToday = 999 }, diagnose.Verdict{Code: "rate_limit_exceeded", Reason: "partial", Until: soon}},
		{
			refused(func(r *usage.FailedRequest) { r.Window, r.Partial = "day", true }),
			diagnose.Verdict{Code: "daily_quota_exceeded", Reason: "partial", Until: soon},
		},
		{
			refused(func(r *usage.FailedRequest) { r.Window, r.Limit, r.Reset = "day", 1000, tomorrow.Unix() }),
			diagnose.Verdict{Code: "daily_quota_exceeded", Reason: "day", Until: tomorrow},
		},
		{refused(func(*usage.FailedRequest) {}),
			diagnose.Verdict{Code: "rate_limit_exceeded", Reason: "minute", Until: soon}},
		{
			refused(func(r *usage.FailedRequest) { r.Window, r.Limit = "key", 5 }),
			diagnose.Verdict{Code: "rate_limit_exceeded", Reason: "key", Until: soon},
		},
		{func() { r.Key.PerMinute = 6 }, diagnose.Verdict{Code: "admitted"}},
		{refused(func(r *usage.FailedRequest) { r.Limit = 300 }), diagnose.Verdict{Code: "admitted"}},
		{refused(func(r *usage.FailedRequest) { r.Reset = now.Unix() }), diagnose.Verdict{Code: "admitted"}},
		{refused(func(r *usage.FailedRequest) { r.Code, r.Window = "key_banned", "" }),
			diagnose.Verdict{Code: "admitted"}},
		// What failed since then for another reason says nothing about the limits.
		{
			func() {
				r.Failed = append(r.Failed, refusal(func(r *usage.FailedRequest) { r.Limit = 60 }))
				r.Failed[0] = usage.FailedRequest{At: now, Code: "pet_not_found"}
			},
			diagnose.Verdict{Code: "rate_limit_exceeded", Reason: "minute", Until: soon},
		},
		{func() { r.Failed = nil }, diagnose.Verdict{Code: "admitted"}},
		// What was used without a month does not count in it.
		{
			func() {
				some := plans.Month{Kind: plans.SomeMonth, Included: 2000}
				r.Tenant.Quota.Month = some
				r.Month.Periods = []usage.PeriodUse{{Admitted: 50}, {Month: some, Admitted: 1999}}
			},
			diagnose.Verdict{Code: "admitted"},
		},
		{func() { r.Month.Periods[1].Admitted++ },
			diagnose.Verdict{Code: "monthly_quota_exceeded", Reason: "month",
				Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}},
		{func() { r.Tenant.Quota.Month.Overage = plans.Overage{Kind: plans.OverageUnlimited} },
			diagnose.Verdict{Code: "admitted"}},
		// Another key of the tenant was refused, by a limit that they share.
		{
			func() { other := refusal(func(*usage.FailedRequest) {}); r.TenantRefusal = &other },
			diagnose.Verdict{Code: "rate_limit_exceeded", Reason: "minute", Until: soon},
		},
		{func() { r.TenantRefusal.Limit = 300 }, diagnose.Verdict{Code: "admitted"}},
	} {
		step.change()
		got := r.Verdict()
		if got.Code != step.want.Code || got.Reason != step.want.Reason || !got.Until.Equal(step.want.Until) {
			t.Errorf("got %+v, want %+v", got, step.want)
		}
	}
}
