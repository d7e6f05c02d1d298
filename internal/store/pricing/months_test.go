package pricing_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// some is a month with an overage as staff write it.
func some(t *testing.T, included int64, overage string) plans.Month {
	t.Helper()
	o, err := plans.ParseOverage(overage)
	assert.NoError(t, err)
	return plans.Month{Kind: plans.SomeMonth, Included: included, Overage: o}
}

func monthText(m plans.Month) string {
	if m.Kind != plans.SomeMonth {
		return "none"
	}
	return fmt.Sprintf("%d+%s", m.Included, m.Overage)
}

// TestMonthsOfVersions: a version that names no month, or no overage, has that of the version before,
// also if a program of the last release or somebody makes it by SQL.
func TestMonthsOfVersions(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	billing := storetest.Open(t, o.BillingURL, store.Options{})
	edit := func(e plans.VersionEdit) error {
		_, err := billing.Plans.Edit(t.Context(), fixture.Jo, "solo", pricing.PlanEdit{Numbers: &e})
		return err
	}
	_, err := billing.Plans.Create(t.Context(), fixture.Jo, pricing.NewPlan{
		Name: "solo", Quota: &plans.Quota{PerMinute: 10, PerDay: 120, Month: some(t, 100, "20%")},
	})
	assert.NoError(t, err)
	assert.NoError(t, edit(plans.VersionEdit{PerMinute: 9}))
	o.Exec(t, `update plans set per_minute = 8 where name = 'solo'`)
	assert.NoError(t, edit(plans.VersionEdit{Month: plans.Month{Kind: plans.SomeMonth, Included: 200}}))
	assert.NoError(t, edit(plans.VersionEdit{Month: plans.Month{Overage: plans.Overage{Kind: plans.OverageUnlimited}}}))
	assert.NoError(t, edit(plans.VersionEdit{PerMinute: 7}))
	assert.NoError(t, edit(plans.VersionEdit{Month: plans.Month{Kind: plans.NoMonth}}))
	assert.NoError(t, edit(plans.VersionEdit{Month: plans.Month{Kind: plans.SomeMonth, Included: 300}}))
	err = edit(plans.VersionEdit{PerDay: 301})
	assert.True(t, errors.As(err, &plans.NumbersError{}), "a day above the month", err)
	list, err := o.Plans.Versions(t.Context(), "solo")
	assert.NoError(t, err)
	var months []string
	for _, v := range list {
		months = append(months, monthText(v.Quota.Month))
	}
	assert.DeepEqual(t, months, []string{"100+20%", "100+20%", "100+20%", "200+20%", "200+unlimited", "200+unlimited",
		"none", "300+none"})
	sold, err := o.API.PriceList.Sold(t.Context())
	assert.NoError(t, err)
	i := slices.IndexFunc(sold, func(p plans.Plan) bool { return p.Name == "solo" })
	assert.Equal(t, monthText(sold[i].Quota.Month), "300+none")

	for statement, constraint := range map[string]string{
		`update plans set per_day = 301 where name = 'solo'`: "plan_versions_day_of_month",
		`insert into plan_versions (plan, version, generation, valid_from, month, per_month)
		   values ('enterprise', 2, 1, now(), 'some', 5)`: "plan_versions_month",
		`insert into plan_versions (plan, version, generation, valid_from, month, per_month, per_minute, per_day)
		   values ('free', 2, 1, now(), 'some', 0, 1, 1)`: "plan_versions_day_of_month",
		`insert into plan_versions (plan, version, generation, valid_from, month, per_month, overage, per_minute,
			per_day)
		   values ('free', 2, 1, now(), 'some', 5, 'share', 1, 1)`: "plan_versions_overage",
		`update plans set per_month = 400 where name = 'solo'`: "",
	} {
		_, err := o.Owner.ExecContext(t.Context(), statement)
		assert.True(t, err != nil && (constraint == "" || pgconn.IsConstraint(err, constraint)), statement, err)
	}
}

// TestMonthsOfAssignments: own numbers have a month of their own, a boost changes what it names, and
// rows of the last release keep what was before.
func TestMonthsOfAssignments(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	o.Exec(t, `
		insert into plan_versions (plan, version, generation, valid_from, month, per_month, overage, overage_value,
			per_minute, per_day)
		values ('pro', 2, 1, now(), 'some', 20000, 'share', 20, 300, 10000)`)
	acme := o.Tenant(t, "acme", plans.Free)
	day := func(n int) time.Time { return time.Now().AddDate(0, 0, n).Truncate(time.Hour) }
	boost := func(from, to int, own plans.Quota) {
		t.Helper()
		assignNew(t, o, pricing.NewAssignment{Kind: plans.Boost, Own: &own, From: day(from), Until: at(day(to))})
	}
	months := func() (months []string) {
		t.Helper()
		periods, err := o.Timelines.Periods(t.Context(), acme.ID, time.Time{})
		assert.NoError(t, err)
		for _, p := range periods {
			months = append(months, monthText(p.Quota.Month))
		}
		return months
	}
	assignNew(t, o, pricing.NewAssignment{Plan: plans.Pro})
	boost(1, 9, plans.Quota{Month: plans.Month{Kind: plans.SomeMonth, Included: 50_000}})
	boost(2, 3, plans.Quota{Month: plans.Month{Overage: plans.Overage{Kind: plans.NoOverage}}})
	boost(4, 5, plans.Quota{PerMinute: 400})
	assert.DeepEqual(t, months(), []string{"none", "20000+20%", "50000+20%", "50000+none", "50000+20%", "50000+20%",
		"50000+20%", "20000+20%"})
	agreed := pricing.NewAssignment{
		Plan: plans.Enterprise, From: day(10),
		Own: &plans.Quota{PerMinute: 7, PerDay: 70, Month: some(t, 1000, "unlimited")},
	}
	assignNew(t, o, agreed)
	boost(11, 12, plans.Quota{Month: plans.Month{Kind: plans.NoMonth}})
	assert.DeepEqual(t, months()[8:], []string{"1000+unlimited", "none", "1000+unlimited"})
	o.Exec(t, `
		insert into tenant_plans (tenant_id, plan, valid_from, per_minute, per_day) values
			($1, 'enterprise', $2, 8, 80), ($1, 'pro', $3, null, null), ($1, 'enterprise', $4, 9, 90)`,
		acme.ID, day(20), day(21), day(22))
	assert.DeepEqual(t, months()[11:], []string{"1000+unlimited", "20000+20%", "1000+unlimited"})
	agreed.From, agreed.Own = day(30), &plans.Quota{PerMinute: 7, PerDay: 70}
	assignNew(t, o, agreed)
	assert.DeepEqual(t, months()[14:], []string{"none"}, "an assignment without a month")
	agreed.Own.Month = some(t, 60, "none")
	agreed.Tenant, agreed.Kind = "acme", plans.Assigned
	_, err := o.Timelines.Assign(t.Context(), fixture.Jo, agreed)
	assert.True(t, err != nil, "a day above the month")
	_, err = o.Timelines.Assign(t.Context(), fixture.Jo, pricing.NewAssignment{
		Tenant: "acme", Kind: plans.Boost, From: day(40), Until: at(day(41)),
		Own: &plans.Quota{Month: plans.Month{Overage: plans.Overage{Kind: plans.OverageUnlimited}}},
	})
	assert.ErrorIs(t, err, plans.ErrQuota, "an overage without a month")
	_, err = o.Owner.ExecContext(t.Context(), `update tenant_plans set month = 'none' where month = 'some'`)
	assert.True(t, pgconn.IsConstraint(err, "tenant_plans_begun"), "a change of an assignment", err)
}

// TestDaysOfBoosts: a boost of a month keeps the day at its cap if it was there, and both end with it.
func TestDaysOfBoosts(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	o.Exec(t, `
		insert into plan_versions (plan, version, generation, valid_from, month, per_month, overage, overage_value,
			per_minute, per_day)
		values ('pro', 2, 1, now(), 'some', 200, 'share', 20, 10, 240)`)
	acme := o.Tenant(t, "acme", plans.Pro)
	day := func(n int) time.Time { return time.Now().AddDate(0, 0, n).Truncate(time.Hour) }
	boost := func(from, to int, own plans.Quota) {
		t.Helper()
		given := own
		assignNew(t, o, pricing.NewAssignment{Kind: plans.Boost, Own: &own, From: day(from), Until: at(day(to))})
		assert.Equal(t, own, given, "the numbers that were given")
	}
	more := plans.Month{Kind: plans.SomeMonth, Included: 300}
	boost(1, 9, plans.Quota{Month: more})
	boost(2, 3, plans.Quota{Month: plans.Month{Overage: plans.Overage{Kind: plans.NoOverage}}})
	boost(4, 5, plans.Quota{Month: plans.Month{Overage: plans.Overage{Kind: plans.OverageUnlimited}}})
	boost(6, 7, plans.Quota{PerDay: 250, Month: more})
	boost(10, 11, plans.Quota{PerMinute: 20})
	assignNew(t, o, pricing.NewAssignment{
		Plan: plans.Enterprise, From: day(12), Own: &plans.Quota{PerMinute: 7, PerDay: 50, Month: some(t, 60, "none")},
	})
	boost(13, 14, plans.Quota{Month: more})
	// A later edit of the plan leaves the day of a boost.
	_, err := storetest.Open(t, o.BillingURL, store.Options{}).Plans.Edit(t.Context(), fixture.Jo, plans.Pro,
		pricing.PlanEdit{Numbers: &plans.VersionEdit{
			From: day(8), Month: plans.Month{Kind: plans.SomeMonth, Included: 1000},
		}})
	assert.NoError(t, err)
	periods, err := o.Timelines.Periods(t.Context(), acme.ID, time.Now())
	assert.NoError(t, err)
	var days []int64
	for _, p := range periods {
		days = append(days, p.Quota.PerDay)
	}
	assert.DeepEqual(t, days, []int64{240, 360, 360, 360, 360, 360, 250, 360, 360, 1200, 1200, 1200, 50, 50, 50})
	_, err = o.Timelines.Assign(t.Context(), fixture.Jo, pricing.NewAssignment{
		Tenant: "acme", Kind: plans.Boost, From: day(8), Until: at(day(9).Add(-time.Hour)),
		Own: &plans.Quota{Month: some(t, 5, "none")},
	})
	assert.NoError(t, err, "a boost of a smaller month leaves the day")
}

// TestEditsLeaveBoostsAMonth: an edit under which a boost would admit no request of a month is
// refused, unless those who have it keep their numbers. Then moving them to it is refused.
func TestEditsLeaveBoostsAMonth(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	billing := storetest.Open(t, o.BillingURL, store.Options{})
	o.Exec(t, `insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day, month, per_month,
			overage, overage_value)
		values ('pro', 2, 1, now(), 10, 100, 'some', 100, 'share', 20)`)
	acme := o.Tenant(t, "acme", plans.Pro)
	assignNew(t, o, pricing.NewAssignment{
		Kind: plans.Boost, Own: &plans.Quota{Month: plans.Month{Overage: plans.Overage{Kind: plans.NoOverage}}},
		From: time.Now().AddDate(0, 0, 2), Until: at(time.Now().AddDate(0, 0, 3)),
	})
	edit := plans.VersionEdit{Month: some(t, 0, "500")}
	change := func() error {
		_, err := billing.Plans.Edit(t.Context(), fixture.Jo, plans.Pro, pricing.PlanEdit{Numbers: &edit})
		return err
	}
	err := change()
	assert.True(t, errors.As(err, &plans.NumbersError{}), "an edit that leaves a boost nothing", err)
	assert.Equal(t, strings.Contains(fmt.Sprint(err), "acme"), true, "it names the tenant")
	edit.KeepExisting = true
	assert.NoError(t, change())
	_, err = o.Plans.Move(t.Context(), fixture.Jo, plans.Pro, []int64{acme.ID})
	assert.True(t, errors.As(err, &plans.NumbersError{}), "a move that leaves a boost nothing", err)
}
