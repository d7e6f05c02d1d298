package tenancy_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// listedRows fills the tables of lists: many rows have the same time, so that an order by time
// alone would not be one.
const listedRows = `
	select test_tenant((array['t','m','x-y'])[1 + n % 3] || n, case when n % 7 = 0 then 'pro' else 'free' end) from
		generate_series(1, 60) n;
	update tenants set suspended_at = now() where id % 5 = 0;
	update tenants set billing_ref = 'cus_' || id, email = 'Ops@' || id || '.example' where id % 4 = 0;
	insert into api_keys (id, tenant_id, name, environment, digest, last4, created_at, expires_at, revoked_at,
		last_used_at)
	select 'key_' || lpad((997 * n % 1000)::text, 16, '0'), 1 + n % 60, (array['ci', 'Größe 100%', 'a_b'])[1 + n % 3],
		'live', sha256(n::text::bytea), lpad((n % 50)::text, 4, 'x'),
	       timestamptz '2025-10-01Z' + n % 4 * interval '1 day', case when n % 3 = 0 then timestamptz '2025-11-18Z' +
	           n % 5 * interval '1 day' end,
	       case when n % 11 = 0 then timestamptz '2025-11-01Z' + n % 3 * interval '1 day' end, case when n % 2 = 0
	           then timestamptz '2025-11-01Z' + n % 9 * interval '1 day' end
	from generate_series(1, 240) n;
	insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at, lifted_at)
	select tenant_id, id, case when tenant_id % 3 = 0 then 'staff' else 'automatic' end, 'x', timestamptz
		'2025-11-20 10:00Z' - tenant_id % 7 * interval '1 hour',
	       timestamptz '2025-11-20 10:00Z' + (tenant_id % 9) * interval '1 hour', case when tenant_id % 8 = 0 then
	           timestamptz '2025-11-20 11:00Z' end from api_keys;
	insert into audit_entries (claimed_actor, action, tenant_id, subject)
	select (array['jo','ann'])[1 + n % 2], (array['plan.assign','plan.void','planet.x','key.issue'])[1 + n % 4],
		nullif(n % 60, 0), 'tenant:' || n % 60 from generate_series(1, 200) n`

// checkList compares a list with the rows of the whole list to which its filter applies, and then
// reads it page by page. A page begins after the last row of the page before.
func checkList[T any](
	t *testing.T,
	name string,
	all []T,
	wanted func(T) bool,
	list func(after string, limit int) iter.Seq2[T, error],
	id func(T) string,
) {
	t.Helper()
	var want []string
	for _, item := range all {
		if wanted(item) {
			want = append(want, id(item))
		}
	}
	slices.Sort(want)
	whole, err := store.Collect(list("", 0))
	assert.NoError(t, err, name)
	var ids []string
	for _, item := range whole {
		ids = append(ids, id(item))
	}
	if diff := gocmp.Diff(want, slices.Sorted(slices.Values(ids))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	if len(want) == 0 || len(want) == len(all) && !strings.HasPrefix(name, "all") {
		t.Errorf("%s: %d of %d rows show nothing", name, len(want), len(all))
	}
	var paged []string
	for after := ""; ; {
		page, err := store.Collect(list(after, 7))
		assert.NoError(t, err, name, "after", after)
		for _, item := range page {
			after = id(item)
			paged = append(paged, after)
		}
		if len(page) < 7 {
			break
		}
	}
	if diff := gocmp.Diff(ids, paged); diff != "" {
		t.Errorf("%s page by page (-whole +pages):\n%s", name, diff)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	fixture.Connect(t, database.URL).MustExec(listedRows)
	now := time.Date(2025, 11, 20, 10, 30, 0, 0, time.UTC)
	for name, url := range map[string]string{"owner": database.URL, "support": database.SupportURL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := storetest.Open(t, url, store.Options{})
			checkTenantLists(t, db)
			checkKeyLists(t, db, now)
			checkBanLists(t, db, now)
			checkAuditLists(t, db)
		})
	}
}

func collected[T any](t *testing.T, list iter.Seq2[T, error]) []T {
	t.Helper()
	all, err := store.Collect(list)
	assert.NoError(t, err)
	return all
}

func checkTenantLists(t *testing.T, db *store.DB) {
	t.Helper()
	type used = tenancy.UsedTenant
	all := collected(t, db.Tenants.List(t.Context(), tenancy.TenantFilter{}))
	suspended, active := true, false
	for name, test := range map[string]struct {
		filter tenancy.TenantFilter
		wanted func(used) bool
	}{
		"all tenants":    {tenancy.TenantFilter{}, func(used) bool { return true }},
		"tenants on pro": {tenancy.TenantFilter{Plan: "pro"}, func(x used) bool { return x.Plan == "pro" }},
		"suspended": {tenancy.TenantFilter{Suspended: &suspended},
			func(x used) bool { return !x.SuspendedAt.IsZero() }},
		"active": {tenancy.TenantFilter{Suspended: &active},
			func(x used) bool { return x.SuspendedAt.IsZero() }},
		"names": {tenancy.TenantFilter{Search: "X-y"},
			func(x used) bool { return strings.Contains(x.Name, "x-y") }},
		"addresses": {tenancy.TenantFilter{Search: "ops@1"},
			func(x used) bool { return strings.HasPrefix(x.Email, "Ops@1") }},
		"references": {tenancy.TenantFilter{Search: "CUS_1"},
			func(x used) bool { return strings.HasPrefix(x.BillingRef, "cus_1") }},
		"no references": {tenancy.TenantFilter{WithoutBillingRef: true},
			func(x used) bool { return x.BillingRef == "" }},
		"suspended without": {tenancy.TenantFilter{Suspended: &suspended, WithoutBillingRef: true},
			func(x used) bool { return !x.SuspendedAt.IsZero() && x.BillingRef == "" }},
	} {
		checkList(t, name, all, test.wanted, func(after string, limit int) iter.Seq2[used, error] {
			f := test.filter
			f.After, f.Limit = after, limit
			return db.Tenants.List(t.Context(), f)
		}, func(x used) string { return x.Name })
	}
}

func checkKeyLists(t *testing.T, db *store.DB, now time.Time) {
	t.Helper()
	all := collected(t, db.Keys.List(t.Context(), tenancy.KeyFilter{}, now))
	soon, unusedSince := now.Add(48*time.Hour), time.Date(2025, 11, 5, 0, 0, 0, 0, time.UTC)
	expiring := func(k keys.Key) bool {
		return k.Valid(now) && !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(soon)
	}
	for name, test := range map[string]struct {
		filter tenancy.KeyFilter
		wanted func(keys.Key) bool
	}{
		"all keys": {tenancy.KeyFilter{}, func(keys.Key) bool { return true }},
		"keys of a tenant": {tenancy.KeyFilter{Tenant: all[0].TenantName},
			func(k keys.Key) bool { return k.TenantID == all[0].TenantID }},
		"active keys": {tenancy.KeyFilter{Status: keys.Active},
			func(k keys.Key) bool { return k.Status(now) == keys.Active }},
		"banned keys": {tenancy.KeyFilter{Status: keys.Banned},
			func(k keys.Key) bool { return k.Status(now) == keys.Banned }},
		"expired": {tenancy.KeyFilter{Status: keys.Expired},
			func(k keys.Key) bool { return k.Status(now) == keys.Expired }},
		"revoked": {tenancy.KeyFilter{Status: keys.Revoked},
			func(k keys.Key) bool { return k.Status(now) == keys.Revoked }},
		"expiring": {tenancy.KeyFilter{ExpiresBefore: soon}, expiring},
		"unused": {tenancy.KeyFilter{UnusedSince: unusedSince},
			func(k keys.Key) bool { return k.LastUsedAt.Before(unusedSince) }},
		"last4": {tenancy.KeyFilter{Last4: "xx17"}, func(k keys.Key) bool { return k.Last4 == "xx17" }},
		"by name": {tenancy.KeyFilter{Search: "E 100%"},
			func(k keys.Key) bool { return strings.HasSuffix(k.Name, "100%") }},
		"revoked by name": {tenancy.KeyFilter{Status: keys.Revoked, Search: "A_B"}, func(k keys.Key) bool {
			return k.Status(now) == keys.Revoked && k.Name == "a_b"
		}},
	} {
		checkList(t, name, all, test.wanted, func(after string, limit int) iter.Seq2[keys.Key, error] {
			f := test.filter
			f.After, f.Limit = after, limit
			return db.Keys.List(t.Context(), f, now)
		}, func(k keys.Key) string { return k.ID })
	}
	if !slices.IsSortedFunc(all, func(a, b keys.Key) int {
		return cmp.Or(
			cmp.Compare(a.TenantName, b.TenantName),
			b.CreatedAt.Compare(a.CreatedAt),
			cmp.Compare(a.ID, b.ID),
		)
	}) {
		t.Error("keys are not by tenant, the newest first")
	}
	if ids, err := db.Keys.IDs(
		t.Context(),
		all[0].ID[:10],
		10,
	); err != nil || len(ids) == 0 ||
		ids[0][:10] != all[0].ID[:10] {
		t.Errorf("ids %v, %v", ids, err)
	}
}

func checkBanLists(t *testing.T, db *store.DB, now time.Time) {
	t.Helper()
	all := collected(t, db.Bans.List(t.Context(), tenancy.BanFilter{Past: true}, now))
	since := now.Add(-3 * time.Hour)
	for name, test := range map[string]struct {
		filter tenancy.BanFilter
		wanted func(keys.Ban) bool
	}{
		"all bans":      {tenancy.BanFilter{Past: true}, func(keys.Ban) bool { return true }},
		"bans in force": {tenancy.BanFilter{}, func(b keys.Ban) bool { return b.InForce(now) }},
		"bans of a tenant": {tenancy.BanFilter{Past: true, Tenant: all[0].TenantName},
			func(b keys.Ban) bool { return b.TenantID == all[0].TenantID }},
		"bans of a key": {tenancy.BanFilter{Past: true, KeyID: all[0].KeyID},
			func(b keys.Ban) bool { return b.KeyID == all[0].KeyID }},
		"bans by staff": {tenancy.BanFilter{Past: true, Source: keys.ByStaff},
			func(b keys.Ban) bool { return b.Source == keys.ByStaff }},
		"bans since": {tenancy.BanFilter{Past: true, Since: since},
			func(b keys.Ban) bool { return !b.StartsAt.Before(since) }},
	} {
		checkList(t, name, all, test.wanted, func(after string, limit int) iter.Seq2[keys.Ban, error] {
			f := test.filter
			_, _ = fmt.Sscan(after, &f.After)
			f.Limit = limit
			return db.Bans.List(t.Context(), f, now)
		}, func(b keys.Ban) string { return fmt.Sprint(b.ID) })
	}
}

func checkAuditLists(t *testing.T, db *store.DB) {
	t.Helper()
	all := collected(t, db.Audit.List(t.Context(), trail.Filter{}))
	from, to := all[150].At, all[50].At
	between := func(e audit.Entry) bool { return !e.At.Before(from) && e.At.Before(to) }
	for name, test := range map[string]struct {
		filter trail.Filter
		wanted func(audit.Entry) bool
	}{
		"all entries": {trail.Filter{Login: all[0].Login}, func(audit.Entry) bool { return true }},
		"of a tenant": {trail.Filter{Tenant: "7"}, func(e audit.Entry) bool { return e.TenantID == 7 }},
		"of subjects": {trail.Filter{Subjects: []string{"tenant:7", "tenant:8"}},
			func(e audit.Entry) bool { return e.TenantID == 7 || e.TenantID == 8 }},
		"by ann": {trail.Filter{Actor: "ann"}, func(e audit.Entry) bool { return e.ClaimedActor == "ann" }},
		"of an action": {trail.Filter{Action: "plan.void"},
			func(e audit.Entry) bool { return e.Action == "plan.void" }},
		"of a noun": {trail.Filter{Action: "plan"},
			func(e audit.Entry) bool { return strings.HasPrefix(e.Action, "plan.") }},
		"between": {trail.Filter{Since: from, Until: to}, between},
		"by ann between": {trail.Filter{Actor: "ann", Since: from, Until: to},
			func(e audit.Entry) bool { return e.ClaimedActor == "ann" && between(e) }},
	} {
		checkList(t, name, all, test.wanted, func(after string, limit int) iter.Seq2[audit.Entry, error] {
			f := test.filter
			_, _ = fmt.Sscan(after, &f.After)
			f.Limit = limit
			return db.Audit.List(t.Context(), f)
		}, func(e audit.Entry) string { return fmt.Sprint(e.Number) })
	}
}

// TestListsAfterAKeyThatIsNotInThem: an error comes through the sequence, before any row.
func TestListsAfterAKeyThatIsNotInThem(t *testing.T) {
	t.Parallel()
	o := fixture.NewOffice(t)
	k, _ := o.Issue(t, o.Tenant(t, "acme", plans.Free).Name)
	for _, f := range []tenancy.KeyFilter{
		{Status: keys.Expired}, {Status: keys.Revoked}, {ExpiresBefore: fixture.Noon},
	} {
		f.After = k.ID
		_, err := store.Collect(o.Keys.List(t.Context(), f, fixture.Noon))
		assert.ErrorIs(t, err, tenancy.ErrNotInList, f)
	}
}

// TestListToASlowReader: a list may take longer than a call. What bounds it is each wait for the
// database.
func TestListToASlowReader(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	fixture.Connect(t, database.URL).MustExec(listedRows)
	const timeout = 500 * time.Millisecond
	db := storetest.Open(t, database.URL, store.Options{Timeout: timeout, MaxConns: 2})
	rows, began := 0, time.Now()
	for _, err := range db.Tenants.List(t.Context(), tenancy.TenantFilter{}) {
		if err != nil {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		if rows++; rows < 4 {
			time.Sleep(timeout / 2) // the list is read slowly
		}
	}
	assert.Equal(t, rows, 60, "tenants")
	// One that is broken off leaves its connection free, and so does one whose context ends.
	for range 4 {
		for _, err := range db.Audit.List(t.Context(), trail.Filter{}) {
			assert.NoError(t, err)
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var failed error
	for _, err := range db.Audit.List(ctx, trail.Filter{}) {
		cancel()
		failed = err
	}
	if !errors.Is(failed, context.Canceled) && failed != nil {
		t.Errorf("a canceled list: %v", failed)
	}
	cancel()
	_, err := db.Tenants.Get(t.Context(), "1")
	assert.Equal(t, err, nil)
}
