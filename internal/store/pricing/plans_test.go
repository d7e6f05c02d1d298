package pricing_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// TestSoldPlans: the API's role sees the numbers in force at once, and neither plans that have not
// begun nor those that are retired.
func TestSoldPlans(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	o.Exec(t, `
		insert into plans (name, per_minute, per_day) values ('gold', 500, 50000);
		insert into price_list (name, position) values ('later', 9);
		insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day) values ('later', 1, 1,
			now() + interval '1 hour', 1, 1)`)
	billing := storetest.Open(t, o.BillingURL, store.Options{})
	_, err := billing.Plans.Edit(
		t.Context(),
		fixture.Jo,
		plans.Pro,
		pricing.PlanEdit{Numbers: &plans.VersionEdit{PerMinute: 400}},
	)
	assert.NoError(t, err)
	_, err = billing.Plans.Retire(t.Context(), fixture.Jo, plans.Business, time.Time{})
	assert.NoError(t, err)
	_, err = billing.Plans.Create(t.Context(), fixture.Jo, pricing.NewPlan{
		Name: "acme", Quota: &plans.Quota{PerMinute: 5, PerDay: 50}, Unlisted: true,
	})
	assert.NoError(t, err)
	title := "For teams"
	_, err = billing.Plans.Edit(t.Context(), fixture.Jo, plans.Pro, pricing.PlanEdit{Title: &title})
	assert.NoError(t, err)
	want := []plans.Plan{
		{Name: plans.Free, Quota: &plans.Quota{PerMinute: 60, PerDay: 1000}, Version: 1},
		{Name: plans.Pro, Title: title, Quota: &plans.Quota{PerMinute: 400, PerDay: 10_000}, Version: 2},
		{
			Name:    "gold",
			Quota:   &plans.Quota{PerMinute: 500, PerDay: 50_000},
			Version: 1,
		},
		{Name: plans.Enterprise, Version: 1},
	}
	got, err := o.API.PriceList.Sold(t.Context())
	assert.Result(t, got, err, want, "plans")
}

// planPeriod is a row of the plan history.
type planPeriod struct {
	Plan      string     `db:"plan"`
	PerMinute int64      `db:"per_minute"`
	PerDay    int64      `db:"per_day"`
	From      time.Time  `db:"valid_from"`
	To        *time.Time `db:"valid_to"`
}

func planHistory(t *testing.T, o fixture.Office, tenantID int64) []planPeriod {
	t.Helper()
	var periods []planPeriod
	o.Rows(t, &periods, `
		select plan, per_minute, per_day, valid_from at time zone 'UTC' as valid_from, valid_to at time zone 'UTC' as
			valid_to
		from quota_periods where tenant_id = $1 order by valid_from`, tenantID)
	return periods
}

func TestAssignPlanSeveralTimesInAnInstant(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	acme := o.Tenant(t, "acme", plans.Free)
	staff := storetest.Open(t, o.URL, store.Options{Clock: func() time.Time { return fixture.Noon }})
	for _, plan := range []string{plans.Pro, plans.Business, plans.Free} {
		_, _, err := fixture.AssignPlan(t.Context(), staff, fixture.Jo, "acme", plan, nil, time.Time{})
		assert.NoError(t, err, plan)
	}
	at := func(n int) time.Time { return fixture.Noon.Add(time.Duration(n) * time.Microsecond) }
	one, two, three := at(1), at(2), at(3)
	want := []planPeriod{
		{plans.Free, 60, 1000, fixture.Noon, &one}, {plans.Pro, 300, 10_000, one, &two},
		{plans.Business, 1000, 100_000, two, &three}, {plans.Free, 60, 1000, three, nil},
	}
	if diff := cmp.Diff(want, planHistory(t, o, acme.ID), cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
