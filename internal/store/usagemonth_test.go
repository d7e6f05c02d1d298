package store_test

import (
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

func TestUsageMonth(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	o.tenant(t, "zoo", plans.Business)
	acme, _ := o.issue(t, "acme")
	second, _ := o.issue(t, "acme")
	zoo, _ := o.issue(t, "zoo")
	o.used(t, acme, plans.Free, november.Add(-2*time.Hour), 1000, 1000)
	o.used(t, acme, plans.Free, november.Add(-time.Hour), 100, 1000)
	o.used(t, acme, plans.Free, november, 1, 10)
	o.used(t, acme, plans.Pro, november, 2, 20)
	o.used(t, second, plans.Pro, november.Add(23*time.Hour), 4, 40)
	o.used(t, second, plans.Pro, november.Add(49*time.Hour), 8, 80)
	o.used(t, second, plans.Pro, november.Add(50*time.Hour), 16, 160)
	o.used(t, zoo, plans.Business, november.Add(50*time.Hour), 1<<40, 1)
	day := func(n int, admitted, refused int64) usage.Day {
		return usage.Day{Date: november.AddDate(0, 0, n-1), Admitted: admitted, Refused: refused}
	}
	for name, test := range map[string]struct {
		tenant int64
		now    time.Time
		want   usage.Month
	}{
		"in its middle": {acme.TenantID, november.Add(51*time.Hour - 1), usage.Month{
			Days: []usage.Day{day(1, 7, 70), day(2, 0, 0), day(3, 24, 240)}, RateWindow: 24,
		}},
		"an hour later": {acme.TenantID, november.Add(51 * time.Hour), usage.Month{
			Days: []usage.Day{day(1, 7, 70), day(2, 0, 0), day(3, 24, 240)}, RateWindow: 16,
		}},
		"its first hour: what is recent began before it": {acme.TenantID, november, usage.Month{
			Days: []usage.Day{day(1, 7, 70)}, RateWindow: 100 + 7 + 8 + 16,
		}},
		"another tenant's": {zoo.TenantID, november.Add(51 * time.Hour), usage.Month{
			Days: []usage.Day{day(1, 0, 0), day(2, 0, 0), day(3, 1<<40, 1)}, RateWindow: 1 << 40,
		}},
		"nothing yet": {zoo.TenantID, december, usage.Month{
			Days: []usage.Day{{Date: december}},
		}},
	} {
		got, err := o.Usage.UsageMonth(t.Context(), test.tenant, test.now)
		assert.Result(t, got, err, test.want, name)
	}
}

// TestMonthReport: what a month is billed for, by day and key, with the corrections of earlier months. Keys of others are not in it.
func TestMonthReport(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.tenant(t, "acme", plans.Pro)
	o.tenant(t, "zoo", plans.Business)
	acme, _ := o.issue(t, "acme")
	second, _ := o.issue(t, "acme")
	zoo, _ := o.issue(t, "zoo")
	o.used(t, acme, plans.Pro, november.Add(-time.Hour), 100, 1000)
	o.used(t, acme, plans.Pro, november, 1, 10)
	o.used(t, acme, plans.Pro, november.Add(23*time.Hour), 2, 20)
	o.used(t, second, plans.Pro, november.Add(49*time.Hour), 4, 40)
	o.used(t, second, plans.Pro, december, 8, 80)
	o.used(t, zoo, plans.Business, november, 1<<40, 1)
	connect(t, o.URL).MustExec(`
		insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused, server_id)
		select $1::date, $2::bigint, $1::date - n * interval '20 days', $3, a.id, 1, 5, 1, 's' from generate_series(1, 3) n, tenant_plans a where a.tenant_id = $2`,
		november, acme.TenantID, second.ID)
	got, err := o.api.Usage.UsageReport(t.Context(), acme.TenantID, november, december)
	assert.NoError(t, err)
	sums := map[string][2]int64{}
	for _, k := range got.Keys {
		a, r := k.Month.Sum()
		sums[k.KeyID+k.Name] = [2]int64{a, r}
	}
	assert.DeepEqual(t, sums, map[string][2]int64{acme.ID + acme.Name: {3, 30}, second.ID + second.Name: {4, 40}}, "by key")
	if a, r := got.Sum(); a != 7 || r != 70 || len(got.Days) != 30 || got.Days[2].Admitted != 4 {
		t.Errorf("%d and %d on %d days, want 7 and 70 on 30: %+v", a, r, len(got.Days), got.Days)
	}
	want := []usage.Correction{
		{Month: november.AddDate(0, -2, 0), Admitted: 10, Refused: 2}, {Month: november.AddDate(0, -1, 0), Admitted: 5, Refused: 1},
	}
	assert.DeepEqual(t, got.Corrections, want, "corrections")
	if none, err := o.api.Usage.UsageReport(t.Context(), acme.TenantID, november.AddDate(-20, 0, 0), december); err != nil || len(none.Keys) > 0 || len(none.Days) != 30 {
		t.Errorf("a month without usage: %v, %+v", err, none)
	}
}
