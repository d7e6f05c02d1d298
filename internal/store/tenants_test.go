package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/people"
	"petstore.example/internal/test/assert"
)

func TestTenantNames(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, want := range map[string]error{
		"0" + strings.Repeat("-", 62): nil, "acme\n": plans.ErrTenantName, "-": plans.ErrTenantName,
		"":      plans.ErrTenantName,
		"a\x00": plans.ErrTenantName, strings.Repeat("a", 64): plans.ErrTenantName,
	} {
		created, err := o.Tenants.Create(t.Context(), jo, people.NewTenant{Name: name, Plan: plans.Free}, noon)
		assert.ErrorIs(t, err, want, name)
		if err == nil {
			read, err := o.Tenants.Get(t.Context(), name)
			assert.Result(t, read, err, created, "read back")
		}
	}
}

func TestOneOfManyTenantsOfANameIsCreated(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	atOnce(t, 8, 1, plans.ErrTenantExists, func(int) error {
		return errorOf(o.Tenants.Create(t.Context(), jo, people.NewTenant{Name: "acme", Plan: plans.Free}, noon))
	})
}

func TestSuspensionFromNowOn(t *testing.T) {
	t.Parallel()
	o := newAcme(t)
	_, err := o.Tenants.Suspend(t.Context(), jo, "acme", time.Time{})
	assert.NoError(t, err)
	o.want(
		t,
		"true",
		`select clock_timestamp() - suspended_at between '0' and '1 minute' from tenants where name = 'acme'`,
	)
}

func errorOf[T any](_ T, err error) error { return err }

// TestOneRuleForTheQuota: staff see what binds a tenant, also where an assignment to a plan with
// numbers has its own.
func TestOneRuleForTheQuota(t *testing.T) {
	t.Parallel()
	o := newAcme(t)
	_, token := o.issue(t, "acme")
	o.exec(
		t,
		`insert into tenant_plans (tenant_id, plan, kind, valid_from, per_minute, per_day) values (1, 'pro', 'boost',
			$1::timestamptz + interval '1 microsecond', 7, 8)`,
		noon,
	)
	seen, err := o.Tenants.Get(t.Context(), "acme")
	assert.NoError(t, err)
	caller, err := o.api.Keys.Caller(t.Context(), token.Digest(), december)
	assert.NoError(t, err)
	want := plans.Quota{PerMinute: 7, PerDay: 8}
	if diff := cmp.Diff([]plans.Quota{want, want}, []plans.Quota{seen.Quota, caller.Tenant.Quota}); diff != "" {
		t.Errorf("the quota that staff see and the one that binds (-want +got):\n%s", diff)
	}
}
