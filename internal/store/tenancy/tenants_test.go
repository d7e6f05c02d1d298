package tenancy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

func TestTenantNames(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	for name, want := range map[string]error{
		"0" + strings.Repeat("-", 62): nil, "acme\n": plans.ErrTenantName, "-": plans.ErrTenantName,
		"":      plans.ErrTenantName,
		"a\x00": plans.ErrTenantName, strings.Repeat("a", 64): plans.ErrTenantName,
	} {
		created, err := o.Tenants.Create(
			t.Context(),
			fixture.Jo,
			tenancy.NewTenant{Name: name, Plan: plans.Free},
			fixture.Noon,
		)
		assert.ErrorIs(t, err, want, name)
		if err == nil {
			read, err := o.Tenants.Get(t.Context(), name)
			assert.Result(t, read, err, created, "read back")
		}
	}
}

func TestOneOfManyTenantsOfANameIsCreated(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	fixture.AtOnce(t, 8, 1, plans.ErrTenantExists, func(int) error {
		return fixture.ErrorOf(
			o.Tenants.Create(t.Context(), fixture.Jo, tenancy.NewTenant{Name: "acme", Plan: plans.Free}, fixture.Noon),
		)
	})
}

func TestSuspensionFromNowOn(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	_, err := o.Tenants.Suspend(t.Context(), fixture.Jo, "acme", time.Time{})
	assert.NoError(t, err)
	o.Want(
		t,
		"true",
		`select clock_timestamp() - suspended_at between '0' and '1 minute' from tenants where name = 'acme'`,
	)
}

// TestOneRuleForTheQuota: staff see what binds a tenant, also where an assignment to a plan with
// numbers has its own.
func TestOneRuleForTheQuota(t *testing.T) {
	t.Parallel()
	o := fixture.NewAcme(t)
	_, token := o.Issue(t, "acme")
	o.Exec(
		t,
		`insert into tenant_plans (tenant_id, plan, kind, valid_from, per_minute, per_day) values (1, 'pro', 'boost',
			$1::timestamptz + interval '1 microsecond', 7, 8)`,
		fixture.Noon,
	)
	seen, err := o.Tenants.Get(t.Context(), "acme")
	assert.NoError(t, err)
	caller, err := o.API.Keys.Caller(t.Context(), token.Digest(), fixture.December)
	assert.NoError(t, err)
	want := plans.Quota{PerMinute: 7, PerDay: 8}
	if diff := cmp.Diff([]plans.Quota{want, want}, []plans.Quota{seen.Quota, caller.Tenant.Quota}); diff != "" {
		t.Errorf("the quota that staff see and the one that binds (-want +got):\n%s", diff)
	}
}
