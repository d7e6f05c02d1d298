package plans

import (
	"errors"
	"testing"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	pro, agreed := &Quota{PerMinute: 300, PerDay: 10_000}, &Quota{PerMinute: 12_345, PerDay: 1_000_000}
	for _, c := range []struct {
		name      string
		plan, own *Quota
		want      Quota
		err       error
	}{
		{"the plan's", pro, nil, *pro, nil},
		{"the tenant's own", nil, agreed, *agreed, nil},
		{"none", nil, nil, Quota{}, ErrQuotaRequired},
		{"both", pro, agreed, Quota{}, ErrQuotaFixed},
	} {
		got, err := Plan{Name: "p", Quota: c.plan}.Resolve(c.own)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v, want %+v, %v", c.name, got, err, c.want, c.err)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for q, valid := range map[Quota]bool{
		{1, 1}: true, {60, 1000}: true, {60, 60}: true, {0, 10}: false, {-1, 10}: false, {10, 0}: false, {61, 60}: false,
	} {
		if err := q.Validate(); (err == nil) != valid {
			t.Errorf("%+v: %v", q, err)
		}
	}
}
