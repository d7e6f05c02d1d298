package billing_test

import (
	"slices"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/usage"
)

// TestMonthPeriods: a month has its periods in their order, with what was used in each: those that
// have begun, or were used although they had not. What is void is in no order.
func TestMonthPeriods(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Exec(t, `
		insert into tenant_plans (tenant_id, valid_from, plan, per_minute, per_day, month, per_month, overage,
			overage_value)
		values (1, '2025-10-25Z', 'enterprise', 1000, 2000, 'some', 10000, 'share', 20),
		  (1, '2025-10-28Z', 'enterprise', 1000, 2000, 'some', 11000, 'unlimited', null)`)
	const team, more = fixture.Business + 1, fixture.Business + 2
	in := func(day int) time.Time { return fixture.Oct.AddDate(0, 0, day-1) }
	b.Deliver(t, "s1", fixture.Nov, fixture.Used(team, in(26), 9000, 1), fixture.Used(team, in(27), 1500, 0))
	none := plans.Month{}
	share := plans.Month{
		Kind:     plans.SomeMonth,
		Included: 10_000,
		Overage:  plans.Overage{Kind: plans.OverageShare, Value: 20},
	}
	unlimited := plans.Month{
		Kind:     plans.SomeMonth,
		Included: 11_000,
		Overage:  plans.Overage{Kind: plans.OverageUnlimited},
	}
	before := []usage.PeriodUse{
		{Month: none, Admitted: 8040},
		{Month: none, Admitted: 44100},
		{Month: share, Admitted: 10_500},
	}
	check := func(what string, month, until time.Time, overage int64, want ...usage.PeriodUse) {
		t.Helper()
		got, err := b.API.Usage.MonthPeriods(t.Context(), fixture.Acme, month, until)
		assert.NoError(t, err)
		assert.DeepEqual(t, got, want, what)
		assert.Equal(t, usage.Month{Periods: got}.Overage(), overage, what, "overage")
	}
	check("before the last began", fixture.Oct, in(28).Add(-time.Second), 500, before...)
	check("when it begins", fixture.Oct, in(28), 500, append(before, usage.PeriodUse{Month: unlimited})...)
	b.Deliver(t, "s1", fixture.Nov, fixture.Used(more, in(27), 600, 0), fixture.Used(more, fixture.Nov, 7, 0))
	used := append(slices.Clone(before), usage.PeriodUse{Month: unlimited, Admitted: 600})
	check("used before it began", fixture.Oct, in(27), 600, used...)
	check("when the month is over", fixture.Oct, fixture.Dec, 600, used...)
	check("the next month", fixture.Nov, fixture.Dec, 0, usage.PeriodUse{Month: unlimited, Admitted: 7})
	m, err := b.API.Usage.UsageReport(t.Context(), fixture.Acme, fixture.Oct, fixture.Dec)
	assert.NoError(t, err)
	included, ok := m.Included()
	assert.True(t, ok && included == 11_000, included, ok)
	b.Exec(t, `update tenant_plans set voided_at = now(), void_reason = 'x' where id = $1`, team)
	check("a void assignment", fixture.Oct, fixture.Dec, 0, used[0], used[1], used[3])
}
