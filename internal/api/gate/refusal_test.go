package gate

import (
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
)

// TestMessagesOf429 holds what they say of one and of many, and that what staff wrote is quoted as
// JSON wants it.
func TestMessagesOf429(t *testing.T) {
	t.Parallel()
	c := &keys.Caller{Tenant: &plans.Tenant{Plan: "pro"}}
	boosted := &keys.Caller{Tenant: &plans.Tenant{Plan: "pro", Quota: plans.Quota{PerMinute: 300, PerDay: 1},
		PlanQuota: plans.Quota{PerMinute: 300, PerDay: 10_000}}}
	until := time.Date(2026, time.November, 20, 9, 21, 48, 0, time.UTC).Unix()
	window := func(name limits.WindowName, limit int64) limits.Window {
		w := limits.Window{Name: name}
		w.Limit = limit
		return w
	}
	for _, test := range []struct {
		got     *problem.Error
		message string
		retry   int64
	}{
		{overLimit(c, window(limits.Minute, 1), false, 1),
			"Plan pro allows 1 request per minute. Retry in 1 second.", 1},
		{overLimit(c, window(limits.Day, 10_000), false, 86_400),
			"Plan pro allows 10000 requests per day. Retry in 86400 seconds.", 86400},
		{overLimit(boosted, window(limits.Day, 1), false, 7),
			"The boost of plan pro allows 1 request per day. Retry in 7 seconds.", 7},
		{overLimit(boosted, window(limits.Minute, 300), false, 7),
			"Plan pro allows 300 requests per minute. Retry in 7 seconds.", 7},
		{overLimit(c, window(limits.Key, 5), false, 42),
			"This API key's own limit allows 5 requests per minute. Retry in 42 seconds.", 42},
		{overLimit(c, window(limits.Key, 5), true, 42),
			"This API key's own limit allows 5 requests per minute. Rate limiting is temporarily degraded: " +
				"this server's share of your limit is used up. Retry in 42 seconds.", 42},
		{addressOverLimit(6000, 7), "Without a valid API key an address may send 6000 requests per minute. Retry in " +
			"7 seconds.", 7},
		{banned(&keys.Ban{Reason: `it said "no" <3`}, until, 60, ""),
			`This API key is banned until 2026-11-20T09:21:48Z: it said "no" <3. Retry in 60 seconds.`, 60},
	} {
		assert.Equal(t, test.got.Message, test.message)
		assert.Equal(t, test.got.RetrySeconds, test.retry)
	}
	of := func(included int64, o plans.Overage) *plans.Tenant {
		return &plans.Tenant{Plan: "team", Quota: plans.Quota{
			Month: plans.Month{Kind: plans.SomeMonth, Included: included, Overage: o}}}
	}
	inBoost := of(5, plans.Overage{})
	inBoost.PlanQuota = plans.Quota{PerMinute: 300, PerDay: 10_000}
	ofMonth := window(limits.Month, 120)
	ofMonth.Reset = until
	const rest = "The month ends at 2026-11-20T09:21:48Z. Ask our support (https://support.example.org) for a larger " +
		"plan or more overage, which is in force at once."
	support := problem.Support{URL: "https://support.example.org"}
	for message, tenant := range map[string]*plans.Tenant{
		"Plan team includes 100 requests per month and allows 20 more. " + rest: of(100,
			plans.Overage{Kind: plans.OverageShare, Value: 20}),
		"Plan team includes 1 request per month and allows 119 more. " + rest: of(1,
			plans.Overage{Kind: plans.OverageNumber, Value: 119}),
		"The boost of plan team includes 5 requests per month and allows 115 more. " + rest: inBoost,
		"Plan free includes 120 requests per month and allows 0 more. " + rest:              {Plan: "free"},
	} {
		e := overMonth(tenant, ofMonth, false, 2, support)
		assert.Equal(t, e.Message, message+" Retry in 2 seconds.")
		assert.Equal(t, overMonth(tenant, ofMonth, true, 2, support).Message,
			message+marginUsedUp+" Retry in 2 seconds.")
	}
	got := string(problem.Body(problem.KeyBanned, `it said "no" <3`))
	want := fmt.Sprintln(`{"code":"key_banned","message":"it said \"no\" <3","status":429}`)
	assert.Equal(t, got, want)
}

// TestKeysOfStaging: at staging the reason is the reverse.
func TestKeysOfStaging(t *testing.T) {
	t.Parallel()
	got := newKeyRefusals(problem.Support{}).notValid(
		&keys.Caller{Environment: keys.Live},
		keys.StatusError(keys.OtherEnvironment),
	).Message
	want := "This API key (pst_live_) is for production, and this is staging. Send a key that begins with " +
		"pst_test_, or send the request to production."
	assert.Equal(t, got, want)
}
