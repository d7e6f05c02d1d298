package store_test

import (
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
)

var (
	november = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	december = november.AddDate(0, 1, 0)
)

func (o office) used(t *testing.T, k keys.Key, plan string, hour time.Time, admitted, refused int64) {
	t.Helper()
	o.exec(t, `select test_usage($1, $2, $3, $4, $5, $6)`,
		k.TenantID, hour, k.ID, plan, admitted, refused)
}

func TestUsageReport(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	o.tenant(t, "zoo", plans.Business)
	acme, _ := o.issue(t, "acme")
	zoo, _ := o.issue(t, "zoo")
	lastHour := december.Add(-time.Hour)
	o.used(t, acme, plans.Free, november.Add(-time.Hour), 1000, 1000)
	o.used(t, acme, plans.Free, november, 1, 10)
	o.used(t, acme, plans.Pro, november.Add(23*time.Hour), 2, 20)
	o.used(t, acme, plans.Pro, lastHour, 4, 40)
	o.used(t, acme, plans.Pro, december, 2000, 2000)
	o.used(t, zoo, plans.Business, lastHour, 8, 0)
	for name, test := range map[string]struct {
		query billing.UsageQuery
		want  []billing.UsageRow
	}{
		"by tenant and plan": {billing.UsageQuery{}, []billing.UsageRow{
			{Tenant: "acme", Plan: "free", Admitted: 1, Refused: 10}, {Tenant: "acme", Plan: "pro", Admitted: 6, Refused: 60},
			{Tenant: "zoo", Plan: "business", Admitted: 8},
		}},
		"by tenant": {billing.UsageQuery{By: billing.ByTenant}, []billing.UsageRow{
			{Tenant: "acme", Admitted: 7, Refused: 70}, {Tenant: "zoo", Admitted: 8},
		}},
		"by plan": {billing.UsageQuery{By: billing.ByPlan}, []billing.UsageRow{
			{Plan: "free", Admitted: 1, Refused: 10}, {Plan: "pro", Admitted: 6, Refused: 60}, {Plan: "business", Admitted: 8},
		}},
		"by key": {billing.UsageQuery{By: billing.ByKey}, []billing.UsageRow{
			{Tenant: "acme", KeyID: acme.ID, Admitted: 7, Refused: 70}, {Tenant: "zoo", KeyID: zoo.ID, Admitted: 8},
		}},
		"by day": {billing.UsageQuery{By: billing.ByDay}, []billing.UsageRow{
			{At: november, Admitted: 3, Refused: 30}, {At: december.AddDate(0, 0, -1), Admitted: 12, Refused: 40},
		}},
		"by hour": {billing.UsageQuery{By: billing.ByHour, Tenant: "acme"}, []billing.UsageRow{
			{At: november, Admitted: 1, Refused: 10}, {At: november.Add(23 * time.Hour), Admitted: 2, Refused: 20},
			{At: lastHour, Admitted: 4, Refused: 40},
		}},
		"limited": {billing.UsageQuery{By: billing.ByTenant, Limit: 1}, []billing.UsageRow{{Tenant: "acme", Admitted: 7, Refused: 70}}},
		"one tenant's": {billing.UsageQuery{Tenant: "zoo"}, []billing.UsageRow{
			{Tenant: "zoo", Plan: "business", Admitted: 8},
		}},
	} {
		test.query.From, test.query.To = november, december
		if test.query.Limit == 0 {
			test.query.Limit = 100
		}
		got, err := store.Collect(o.Usage.Report(t.Context(), test.query))
		assert.Result(t, got, err, test.want, name)
	}
	_, err := store.Collect(o.Usage.Report(t.Context(), billing.UsageQuery{Tenant: "nobody"}))
	assert.ErrorIs(t, err, plans.ErrTenantNotFound, "nobody")
	if _, err := store.Collect(o.Usage.Report(t.Context(), billing.UsageQuery{By: "week"})); err == nil {
		t.Error("a grouping that does not exist was reported")
	}
}
