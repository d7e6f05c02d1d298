package diagnose_test

import (
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/diagnose"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// TestLargerPlans: a plan is recommended only if it raises a limit that refused. Where the window
// is not known, it is one that can have been used up.
func TestLargerPlans(t *testing.T) {
	t.Parallel()
	of := func(name string, perMinute, perDay int64) plans.Plan {
		return plans.Plan{Name: name, Quota: &plans.Quota{PerMinute: perMinute, PerDay: perDay}}
	}
	sold := []plans.Plan{of("free", 60, 1000), of("pro", 300, 10_000), of("wide", 300, 50_000),
		of("fast", 900, 10_000), of("business", 1000, 100_000), {Name: "enterprise"},
		{Name: "more", Quota: &plans.Quota{PerMinute: 300, PerDay: 10_000,
			Month: plans.Month{Kind: plans.SomeMonth, Included: 401}}},
		{Name: "less", Quota: &plans.Quota{PerMinute: 900, PerDay: 20_000,
			Month: plans.Month{Kind: plans.SomeMonth, Included: 399}}}}
	hour := func(n int, admitted, refused int64) usage.Hour {
		at := now.Truncate(time.Hour).Add(-time.Duration(n) * time.Hour)
		return usage.Hour{At: at, Requests: admitted + refused, Refused: refused}
	}
	custom := plans.Tenant{Plan: "custom", Quota: plans.Quota{PerMinute: 300, PerDay: 1000}}
	pro := plans.Tenant{Plan: "pro", Quota: *sold[1].Quota, PlanQuota: *sold[1].Quota}
	team := plans.Tenant{Plan: "team", Quota: pro.Quota}
	team.Quota.Month = plans.Month{Kind: plans.SomeMonth, Included: 400}
	boosted := pro
	boosted.Quota.PerDay = 300
	for name, test := range map[string]struct {
		tenant *plans.Tenant
		window limits.WindowName
		hours  []usage.Hour
		want   string
	}{
		"the same limit per minute": {&custom, limits.Minute, []usage.Hour{hour(1, 700, 121)},
			"pro-minute wide-minute fast+0 business+0"},
		"and the window is not known": {&custom, "", []usage.Hour{hour(1, 700, 121)},
			"pro-minute wide-minute fast+0 business+0"},
		"a minute since the hour before": {&custom, "", []usage.Hour{hour(2, 299, 0), hour(1, 1, 1)},
			"pro-minute wide-minute fast+0 business+0"},
		"the day": {&pro, limits.Day, []usage.Hour{hour(1, 10_000, 9)},
			"wide+0 fast-day business+0"},
		"the day, or a minute of it": {&pro, "", []usage.Hour{hour(1, 10_000, 9)},
			"wide+0minute fast+9day business+0"},
		"a day before": {&pro, "", []usage.Hour{hour(34, 10_000, 0), hour(1, 300, 9)},
			"wide-minute fast+0 business+0"},
		"a key's own limit, or a ban": {&pro, "", []usage.Hour{hour(2, 200, 0), hour(1, 99, 50)}, ""},
		"a boost is no reason for its plan": {&boosted, limits.Day, []usage.Hour{hour(1, 300, 9)},
			"wide+0 fast+0 business+0"},
		"the month": {&team, limits.Month, []usage.Hour{hour(1, 400, 9)}, "pro+0 wide+0 fast+0 business+0 more+8"},
		"the month or a minute of it": {&team, "", []usage.Hour{hour(1, 400, 9)},
			"pro+0minute wide+0minute fast+0 business+0 more+8minute"},
		"a plan with a month is not larger": {&pro, limits.Minute, []usage.Hour{hour(1, 400, 9)},
			"wide-minute fast+0 business+0"},
		"a quiet day before one with a boost": {&boosted, "", []usage.Hour{hour(1, 0, 9)}, ""},
	} {
		refused, list := diagnose.LargerPlans(test.hours, test.tenant, sold, test.window)
		assert.Equal(t, refused, test.hours[len(test.hours)-1].Refused, name)
		var got string
		for i, p := range list {
			if i > 0 {
				got += " "
			}
			if got += p.Name; p.Helps {
				got += fmt.Sprint("+", p.Remain)
			} else {
				got += "-"
			}
			got += string(p.Same)
		}
		assert.Equal(t, got, test.want, name)
	}
	_, list := diagnose.LargerPlans([]usage.Hour{hour(1, 700, 121)}, &custom, sold, limits.Minute)
	assert.Equal(t, diagnose.SameLimits(list),
		" Plan pro has the same limit per minute. Plan wide has the same limit per minute.")
}
