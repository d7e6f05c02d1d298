package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
)

func TestBilling(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	// acme moves on 20 November at noon and 12:30, and is back on pro from the 25th; zoo only has a plan.
	acme, zoo := o.tenant(t, "acme", plans.Pro), o.tenant(t, "zoo", plans.Free)
	key, _ := o.issue(t, "acme")
	assign := func(plan string, own *plans.Quota, at time.Time) {
		t.Helper()
		if _, _, err := o.Tenants.AssignPlan(t.Context(), jo, "acme", plan, own, at); err != nil {
			t.Fatal(err)
		}
	}
	half, later, end := noon.Add(30*time.Minute), noon.AddDate(0, 0, 5), noon.AddDate(0, 0, 6)
	assign(plans.Enterprise, &plans.Quota{PerMinute: 5, PerDay: 50}, half)
	assign(plans.Enterprise, &plans.Quota{PerMinute: 7, PerDay: 70}, later)
	assign(plans.Pro, nil, end)
	for _, row := range []struct {
		at       time.Time
		plan     string
		admitted int64
	}{
		{november.Add(-time.Hour), "pro", 1e6}, {december, "pro", 1e6},
		{noon, "pro", 1}, {noon, "enterprise", 10}, {noon.Add(time.Hour), "pro", 2},
		{later, "enterprise", 100}, {end.Add(time.Hour), "pro", 1000},
	} {
		o.used(t, key, row.plan, row.at, row.admitted, 2*row.admitted)
	}
	row := func(plan string, q plans.Quota, from, to time.Time, admitted int64) store.BillingRow {
		return store.BillingRow{
			TenantID: acme.ID, Tenant: "acme", Plan: plan, PerMinute: q.PerMinute, PerDay: q.PerDay, From: from, To: to,
			Admitted: admitted, Refused: 2 * admitted,
		}
	}
	want := []store.BillingRow{
		row("pro", acme.Quota, noon, half, 3),
		row("enterprise", plans.Quota{PerMinute: 5, PerDay: 50}, half, later, 10),
		row("enterprise", plans.Quota{PerMinute: 7, PerDay: 70}, later, end, 100),
		row("pro", acme.Quota, end, december, 1000),
		{TenantID: zoo.ID, Tenant: "zoo", Plan: "free", PerMinute: 60, PerDay: 1000, From: noon, To: december},
	}
	got, err := o.Usage.Billing(t.Context(), november, december)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
	if got, err := o.Usage.Billing(t.Context(), november.AddDate(0, -2, 0), november.AddDate(0, -1, 0)); err != nil || len(got) != 0 {
		t.Errorf("of a month before all: %+v, %v", got, err)
	}
}
