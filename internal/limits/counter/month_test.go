package counter_test

import (
	"testing"
	"time"

	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
)

// TestMonthInTheRow: a row always has its month, and counts in it what is granted under a quota with
// a month.
func TestMonthInTheRow(t *testing.T) {
	t.Parallel()
	none := plans.Quota{PerMinute: 100, PerDay: 1000}
	some, unlimited := none, none
	some.Month = plans.Month{
		Kind: plans.SomeMonth, Included: 4000, Overage: plans.Overage{Kind: plans.OverageNumber, Value: 20},
	}
	unlimited.Month = plans.Month{
		Kind: plans.SomeMonth, Included: 10, Overage: plans.Overage{Kind: plans.OverageUnlimited},
	}
	nextMonth := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	silent := recordedAt(30, 300, 0)
	silent.MonthSilent, silent.MonthPerMinute = 2, 140
	for name, tt := range map[string]struct {
		row      counter.Row
		recorded counter.Recorded
		q        plans.Quota
		at       time.Time
		granted  int64
		month    int64
		used     int64
	}{
		"no month":                 {tenantRow(5, 30, 300), counter.Recorded{}, none, limitstest.Noon, 50, 0, 4000},
		"the month is nearly full": {tenantRow(5, 30, 300), counter.Recorded{}, some, limitstest.Noon, 20, 0, 4020},
		"no limit per month": {
			tenantRow(5, 30, 300), counter.Recorded{}, unlimited, limitstest.Noon, 50, 0, 4050},
		"the next month":              {tenantRow(5, 30, 300), counter.Recorded{}, some, nextMonth, 50, 1, 50},
		"the next month, without one": {tenantRow(5, 30, 300), counter.Recorded{}, none, nextMonth, 50, 1, 0},
		"a term begins at the records, with the margin of the month's highest limit": {
			tenantRow(4, 30, 300), silent, some, limitstest.Noon, 6, 0, 4020},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := counter.GrantRequest{Claim: limitstest.Claim(1, tt.q), Term: 5, At: tt.at, Want: 50}
			got, grant, err := counter.Rows{Tenant: tt.row}.Granted(
				counter.Term{Number: 5, Servers: 9, Now: tt.at}, r, tt.recorded)
			assert.NoError(t, err)
			assert.Equal(t, grant.Count, tt.granted, "granted")
			assert.Equal(t, got.Tenant.Month, rowMonth+tt.month, "month")
			assert.Equal(t, got.Tenant.MonthUsed, tt.used, "used in it")
			assert.Equal(t, grant.MonthUsed, tt.used, "and said so")
		})
	}
}
