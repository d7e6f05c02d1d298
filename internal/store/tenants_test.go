package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/people"
	"petstore.example/internal/test/assert"
)

func TestCreateTenant(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	own := &plans.Quota{PerMinute: 12345, PerDay: 5_000_000}
	for _, test := range []struct {
		new  people.NewTenant
		want plans.Tenant
		err  error
	}{
		{
			new:  people.NewTenant{Name: "acme", Plan: plans.Pro},
			want: plans.Tenant{Name: "acme", Plan: plans.Pro, Quota: plans.Quota{PerMinute: 300, PerDay: 10_000}, CreatedAt: noon},
		},
		{
			new:  people.NewTenant{Name: "umbrella", Plan: plans.Enterprise, Own: own},
			want: plans.Tenant{Name: "umbrella", Plan: plans.Enterprise, Quota: *own, CreatedAt: noon},
		},
		{
			new:  people.NewTenant{Name: "0" + strings.Repeat("-", 62), Plan: plans.Free},
			want: plans.Tenant{Name: "0" + strings.Repeat("-", 62), Plan: plans.Free, Quota: plans.Quota{PerMinute: 60, PerDay: 1000}, CreatedAt: noon},
		},
		{new: people.NewTenant{Name: "acme", Plan: plans.Free}, err: plans.ErrTenantExists},
		{new: people.NewTenant{Name: "x", Plan: "gold"}, err: plans.ErrPlanNotFound},
		{new: people.NewTenant{Name: "x", Plan: plans.Enterprise}, err: plans.ErrQuotaRequired},
		{new: people.NewTenant{Name: "x", Plan: plans.Pro, Own: own}, err: plans.ErrQuotaFixed},
		{new: people.NewTenant{Name: "two words", Plan: plans.Pro}, err: plans.ErrTenantName},
		{new: people.NewTenant{Name: "Acme", Plan: plans.Pro}, err: plans.ErrTenantName},
		{new: people.NewTenant{Name: "acme\n", Plan: plans.Pro}, err: plans.ErrTenantName},
		{new: people.NewTenant{Name: "-", Plan: plans.Pro}, err: plans.ErrTenantName},
		{new: people.NewTenant{Name: "", Plan: plans.Pro}, err: plans.ErrTenantName},
		{new: people.NewTenant{Name: "a\x00", Plan: plans.Pro}, err: plans.ErrTenantName},
		{new: people.NewTenant{Name: strings.Repeat("a", 64), Plan: plans.Pro}, err: plans.ErrTenantName},
	} {
		got, err := o.Tenants.Create(t.Context(), jo, test.new, noon)
		assert.ErrorIs(t, err, test.err, test.new, "error")
		if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(plans.Tenant{}, "Kind", "ID", "Assignment", "Version")); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.new, diff)
		}
		if err != nil {
			continue
		}
		if read, err := o.Tenants.Get(t.Context(), test.new.Name); err != nil || !cmp.Equal(read, got) {
			t.Errorf("read back %+v, %v", read, err)
		}
	}
	list, err := store.Collect(o.Tenants.List(t.Context(), people.TenantFilter{Limit: 2}))
	if err != nil || len(list) != 2 || list[1].Name != "acme" {
		t.Errorf("the first two: %+v, %v", list, err)
	}
	names, err := o.Tenants.Names(t.Context(), "a", 10)
	assert.Result(t, names, err, []string{"acme"}, "names")
}

func TestOneOfManyTenantsOfANameIsCreated(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	atOnce(t, 8, 1, plans.ErrTenantExists, func(int) error {
		return errorOf(o.Tenants.Create(t.Context(), jo, people.NewTenant{Name: "acme", Plan: plans.Free}, noon))
	})
}

func TestSuspendAndResume(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	acme := o.tenant(t, "acme", plans.Pro)
	_, err := o.Tenants.Resume(t.Context(), jo, "acme")
	assert.ErrorIs(t, err, plans.ErrTenantNotSuspended, "resume in good standing")
	suspended, err := o.Tenants.Suspend(t.Context(), jo, "acme", noon)
	want := acme
	want.SuspendedAt = noon
	assert.Result(t, suspended, err, want, "suspended")
	record := map[string]any{"plan": "pro", "per_minute": 300.0, "per_day": 10000.0}
	assert.DeepEqual(t, o.last(t), remembered{
		ClaimedActor: "jo@support-3", Action: "tenant.suspend", Tenant: "acme", Subject: audit.TenantSubject(acme.ID), Reason: "because",
		Before: record,
		After: map[string]any{
			"plan": "pro", "per_minute": 300.0, "per_day": 10000.0, "suspended_at": "2026-11-20T12:00:00Z",
		},
	}, "remembered")
	_, err = o.Tenants.Suspend(t.Context(), jo, "acme", noon)
	assert.ErrorIs(t, err, plans.ErrTenantSuspended, "suspend again")
	resumed, err := o.Tenants.Resume(t.Context(), jo, "acme")
	assert.Result(t, resumed, err, acme, "resumed")
	_, err = o.Tenants.Suspend(t.Context(), jo, "acme", time.Time{})
	assert.Equal(t, err, nil, "suspend from now on")
	o.want(t, "true", `select clock_timestamp() - suspended_at between '0' and '1 minute' from tenants where name = 'acme'`)
	for name, change := range map[string]error{
		"suspend": errorOf(o.Tenants.Suspend(t.Context(), jo, "nobody", noon)),
		"resume":  errorOf(o.Tenants.Resume(t.Context(), jo, "nobody")),
		"get":     errorOf(o.Tenants.Get(t.Context(), "nobody")),
	} {
		assert.ErrorIs(t, change, plans.ErrTenantNotFound, name, "nobody")
	}
}

func errorOf[T any](_ T, err error) error { return err }

// TestOneRuleForTheQuota: staff see what binds a tenant, also where an assignment to a plan with numbers has its own.
func TestOneRuleForTheQuota(t *testing.T) {
	t.Parallel()
	o := newAcme(t)
	_, token := o.issue(t, "acme")
	o.exec(t, `insert into tenant_plans (tenant_id, plan, kind, valid_from, per_minute, per_day) values (1, 'pro', 'boost', $1::timestamptz + interval '1 microsecond', 7, 8)`, noon)
	seen, err := o.Tenants.Get(t.Context(), "acme")
	assert.NoError(t, err)
	caller, err := o.api.Keys.Caller(t.Context(), token.Digest(), december)
	assert.NoError(t, err)
	want := plans.Quota{PerMinute: 7, PerDay: 8}
	if diff := cmp.Diff([]plans.Quota{want, want}, []plans.Quota{seen.Quota, caller.Tenant.Quota}); diff != "" {
		t.Errorf("the quota that staff see and the one that binds (-want +got):\n%s", diff)
	}
}
