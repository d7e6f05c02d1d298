package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/plans"
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
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got):\n%s%v", name, diff, err)
		}
	}
}
