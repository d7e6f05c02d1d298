package store_test

import (
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// recordHours records usage of a key of the tenant, as servers would.
func (o office) recordHours(t *testing.T, tenant plans.Tenant, key string, counts map[time.Time][2]int64) {
	t.Helper()
	for hour, n := range counts {
		o.exec(t, `select test_usage($1, $2, $3, $4, $5, $6)`, tenant.ID, hour, key, tenant.Plan, n[0], n[1])
	}
}

func TestEachDay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	acme, zoo := o.tenant(t, "acme", plans.Pro), o.tenant(t, "zoo", plans.Free)
	first, _ := o.issue(t, "acme")
	second, _ := o.issue(t, "acme")
	other, _ := o.issue(t, "zoo")
	day := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	hour := func(n int) time.Time { return day.Add(time.Duration(n) * time.Hour) }
	o.recordHours(t, acme, first.ID, map[time.Time][2]int64{
		hour(-1): {9, 9}, hour(0): {100, 0}, hour(7): {60, 1}, hour(24 + 23): {50, 0}, hour(24 + 5): {101, 0}, hour(72): {9, 9},
	})
	o.recordHours(t, acme, second.ID, map[time.Time][2]int64{hour(7): {40, 2}, hour(24 + 23): {51, 4}})
	o.recordHours(t, zoo, other.ID, map[time.Time][2]int64{hour(48): {7, 0}})
	type row struct {
		Tenant int64
		Day    usage.RecordedDay
	}
	want := []row{
		{acme.ID, usage.RecordedDay{Date: day, Requests: 203, Refused: 3, Busy: []usage.Hour{{At: hour(7), Requests: 103}}}},
		{acme.ID, usage.RecordedDay{
			Date: hour(24), Requests: 206, Refused: 4,
			Busy: []usage.Hour{{At: hour(24 + 5), Requests: 101}, {At: hour(24 + 23), Requests: 105}},
		}},
		{zoo.ID, usage.RecordedDay{Date: hour(48), Requests: 7}},
	}
	for _, c := range []struct {
		tenants []int64
		want    []row
	}{
		{nil, want}, {[]int64{acme.ID}, want[:2]}, {[]int64{}, nil},
	} {
		var got []row
		err := o.Usage.EachDay(t.Context(), billing.DaysQuery{From: day, To: hour(72), Tenants: c.tenants, Quiet: 100}, func(id int64, d usage.RecordedDay) {
			got = append(got, row{id, d})
		})
		assert.Result(t, got, err, c.want, "tenants", c.tenants)
	}
}
