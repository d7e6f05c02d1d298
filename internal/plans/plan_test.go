package plans

import (
	"errors"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
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
		{PerMinute: 1, PerDay: 1}: true, {PerMinute: 60, PerDay: 1000}: true, {PerMinute: 60, PerDay: 60}: true,
		{PerDay: 10}: false, {PerMinute: -1, PerDay: 10}: false, {PerMinute: 10}: false,
		{PerMinute: 61, PerDay: 60}: false, {PerMinute: 1, PerDay: 1, Month: some(0, "none")}: false,
	} {
		if err := q.Validate(); (err == nil) != valid {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestChecksOfTenants(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxContact)
	for profile, want := range map[Profile]error{
		{}: nil, {"cus_N4a1", "jo@a.example", "Jo", "asks"}: nil,
		{BillingRef: "_x"}: ErrBillingRef, {BillingRef: "x" + strings.Repeat("1", 99)}: nil,
		{BillingRef: strings.Repeat("1", 101)}: ErrBillingRef,
		{Email: "ops@a..example"}:              ErrEmail, {Email: `"o ps"@a.example`}: ErrEmail,
		{Email: "<ops@a.example>"}: ErrEmail,
		{Email: "a.example"}:       ErrEmail, {Email: strings.Repeat("j", maxEmail-2) + "@a"}: nil,
		{Email: strings.Repeat("j", maxEmail-1) + "@a"}: ErrEmail,
		{Contact: long}: nil, {Contact: long + "é"}: ErrContact,
		{Notes: strings.Repeat(long, maxNotes/maxContact)}:       nil,
		{Notes: strings.Repeat(long, maxNotes/maxContact) + "é"}: ErrNotes,
	} {
		assert.ErrorIs(t, profile.Check(), want, profile)
	}
	for name, want := range map[string]error{
		"acme": nil, "0-a": nil, "": ErrTenantName, "-acme": ErrTenantName, "Acme": ErrTenantName,
		ErasedName(7): ErrTenantName,
	} {
		assert.ErrorIs(t, CheckTenantName(name), want, name)
	}
}

func TestTenant(t *testing.T) {
	t.Parallel()
	until := testDay(3)
	end := Tenant{ID: 7, Until: until}
	for at, want := range map[time.Time]bool{until.Add(-1): false, until: true, until.Add(1): true} {
		assert.Equal(t, end.Ended(at), want, "ends", until, "at", at)
	}
	assert.Equal(t, (&Tenant{}).Ended(until), false, "without an end")
	assert.Equal(t, (&Tenant{ID: 7, Name: "erased-7"}).Erased(), true, "erased")
	assert.Equal(t, (&Tenant{ID: 8, Name: "erased-7"}).Erased(), false, "another's name")
	one, followed, other := Tenant{ID: 7}, Tenant{ID: 7, Next: &end}, Tenant{ID: 7, Next: &Tenant{ID: 8}}
	for _, c := range []struct {
		a, b *Tenant
		want bool
	}{
		{nil, nil, true}, {&one, nil, false}, {&one, &Tenant{ID: 7}, true}, {&one, &end, false},
		{&followed, &one, false}, {&followed, &Tenant{ID: 7, Next: &Tenant{ID: 7, Until: until}}, true},
		{&followed, &other, false},
	} {
		assert.Equal(t, c.a.Equal(c.b), c.want, c.a, "and", c.b)
	}
}
