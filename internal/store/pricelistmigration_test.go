package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"petstore.example/internal/store/migrate"
)

// versionBeforePriceList is the last migration with a plan as a column of a tenant.
const versionBeforePriceList = 19

// TestPriceListMigration: what tenants had and what they used is the same after the migration, and after it is reverted.
func TestPriceListMigration(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	status, err := migrate.GetStatus(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	down := func() {
		t.Helper()
		if err := migrate.Down(t.Context(), db.URL, int(status.Latest-versionBeforePriceList)); err != nil {
			t.Fatal(err)
		}
	}
	rows := func(query string) (rows []string) {
		t.Helper()
		db.rows(t, &rows, query)
		return rows
	}
	down()
	// pro was changed by SQL: tenant 1 has the new numbers, though its history has the old. Tenant 2 changed twice in the hour of its usage.
	// Tenant 3 has no history. Tenant 4 used a plan that it never had.
	db.exec(t, `
		update plans set per_minute = 600 where name = 'pro';
		insert into tenants (name, plan, per_minute, per_day, created_at, suspended_at) values
		('a', 'pro', null, null, '2026-10-01Z', null), ('b', 'enterprise', 7, 70, '2026-10-01Z', '2026-10-20Z'),
		('c', 'free', null, null, '2026-10-01Z', null), ('d', 'free', null, null, '2026-10-01Z', null);
		insert into tenant_plans (tenant_id, valid_from, valid_to, plan, per_minute, per_day) values
		(1, '2026-10-01Z', null, 'pro', 300, 10000),
		(2, '2026-10-01Z', '2026-10-10 12:10Z', 'business', 1000, 100000),
		(2, '2026-10-10 12:10Z', '2026-10-10 12:40Z', 'enterprise', 5, 50),
		(2, '2026-10-10 12:40Z', null, 'enterprise', 7, 70),
		(4, '2026-10-01Z', null, 'free', 60, 1000);
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_000000000000000' || id, id, 'live', sha256(name::bytea), 'last', now() from tenants;
		insert into usage_hourly (tenant_id, hour, key_id, plan, admitted, refused, minute, in_minute, in_previous) values
		(2, '2026-10-10 12:00Z', 'key_0000000000000002', 'business', 1, 10, 5, 1, 0),
		(2, '2026-10-10 12:00Z', 'key_0000000000000002', 'enterprise', 2, 20, 6, 2, 0),
		(3, '2026-10-10 12:00Z', 'key_0000000000000003', 'free', 3, 30, 7, 3, 0),
		(4, '2026-10-10 12:00Z', 'key_0000000000000004', 'free', 4, 40, 8, 4, 1),
		(4, '2026-10-10 12:00Z', 'key_0000000000000004', 'pro', 5, 50, 7, 5, 1)`)
	if err := migrate.Up(t.Context(), db.URL); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		"1 pro 300 10000 01 00:00 later", "1 pro 600 10000 later",
		"2 business 1000 100000 01 00:00 10 12:10", "2 enterprise 5 50 10 12:10 10 12:40", "2 enterprise 7 70 10 12:40",
		"3 free 60 1000 01 00:00", "4 free 60 1000 01 00:00",
	}, rows(`
		select concat_ws(' ', tenant_id, plan, per_minute, per_day,
		  case when valid_from > '2026-10-30Z' then 'later' else to_char(valid_from at time zone 'UTC', 'DD HH24:MI') end,
		  case when valid_to > '2026-10-30Z' then 'later' else to_char(valid_to at time zone 'UTC', 'DD HH24:MI') end)
		from quota_periods order by tenant_id, valid_from`)); diff != "" {
		t.Errorf("periods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"2 business 1000 1 10 5 1 0", "2 enterprise 7 2 20 6 2 0", "3 free 60 3 30 7 3 0", "4 free 60 9 90 8 9 2",
	}, rows(`
		select concat_ws(' ', u.tenant_id, q.plan, q.per_minute, admitted, refused, minute, in_minute, in_previous)
		from usage_hourly u join quota_periods q on q.tenant_id = u.tenant_id and q.assignment = u.assignment and q.version = u.version
		order by u.tenant_id, q.valid_from`)); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if got := db.text(t, `select string_agg(tenant_id || ' ' || (valid_to is null), ' ') from tenant_suspensions`); got != "2 true" {
		t.Errorf("suspensions: %s", got)
	}

	down()
	if diff := cmp.Diff([]string{"a pro", "b enterprise 7 70", "c free", "d free"},
		rows(`select concat_ws(' ', name, plan, per_minute, per_day) from tenants order by name`)); diff != "" {
		t.Errorf("tenants after down (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"2 business 1 10", "2 enterprise 2 20", "3 free 3 30", "4 free 9 90"},
		rows(`select concat_ws(' ', tenant_id, plan, admitted, refused) from usage_hourly order by tenant_id, plan`)); diff != "" {
		t.Errorf("usage after down (-want +got):\n%s", diff)
	}
	if got := db.text(t, `select concat_ws(' ', count(*), count(*) filter (where valid_to is null)) from tenant_plans`); got != "7 4" {
		t.Errorf("history after down: %s periods, and those without an end", got)
	}
	if err := migrate.Up(t.Context(), db.URL); err != nil {
		t.Error(err)
	}
}

// TestThePastIsNotChanged: who works by SQL can't change what was in force, whatever their role; only what has not begun.
func TestThePastIsNotChanged(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	db.exec(t, `
		select test_tenant('acme', 'pro');
		insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day) values ('pro', 2, 2, now() + interval '1 hour', 400, 20000);
		insert into tenant_plans (tenant_id, plan, valid_from) values (1, 'free', now() + interval '1 hour'), (1, 'pro', now() + interval '1.5 seconds');
		create or replace function past_until() returns timestamptz language sql stable as 'select now()'`)
	for statement, constraint := range map[string]string{
		`insert into tenant_plans (tenant_id, plan, valid_from) values (1, 'free', now() - interval '1 second')`:                 "tenant_plans_past",
		`insert into tenant_plans (tenant_id, plan, generation) values (1, 'pro', 2)`:                                            "tenant_plans_generation",
		`insert into tenant_plans (tenant_id, plan, generation) values (1, 'pro', 1)`:                                            "",
		`insert into tenant_plans (tenant_id, plan) values (1, 'enterprise')`:                                                    "tenant_plans_numbers",
		`insert into tenant_plans (tenant_id, plan, per_minute, per_day) values (1, 'pro', 1, 1)`:                                "tenant_plans_numbers",
		`insert into tenant_plans (tenant_id, plan, kind, per_minute, per_day) values (1, 'pro', 'boost', 1, 1)`:                 "",
		`update tenant_plans set plan = 'free'`:                                                                                  "tenant_plans_begun",
		`update tenant_plans set voided_at = now(), void_reason = 'x'`:                                                           "",
		`delete from tenant_plans where id = 1`:                                                                                  "tenant_plans_begun",
		`delete from tenant_plans where id = 2`:                                                                                  "",
		`delete from tenant_plans where id = 3`:                                                                                  "tenant_plans_begun",
		`delete from tenants`:                                                                                                    "",
		`update plan_versions set per_minute = 1 where plan = 'pro'`:                                                             "plan_versions_begun",
		`delete from plan_versions where plan = 'pro' and version = 1`:                                                           "plan_versions_begun",
		`delete from plan_versions where plan = 'pro' and version = 2`:                                                           "",
		`insert into plan_versions values ('free', 2, 1, now() - interval '1 second', 1, 1)`:                                     "plan_versions_past",
		`insert into plan_versions values ('pro', 3, 2, now() + interval '10 minutes', 1, 1)`:                                    "plan_versions_order",
		`insert into plan_versions values ('free', 3, 1, now(), 1, 1)`:                                                           "plan_versions_number",
		`insert into plan_versions values ('free', 2, 1, now(), null, null)`:                                                     "plan_versions_numbers",
		`update plans set per_minute = 90 where name = 'free'; update plans set per_minute = 91 where name = 'free'`:             "",
		`update plans set retires_at = now() where name = 'free'; insert into tenant_plans (tenant_id, plan) values (1, 'free')`: "tenant_plans_retired",
	} {
		err := attempt(t, db.URL, `select 1`, statement)
		got := ""
		if e := pq.As(err); e != nil {
			got = e.Constraint
		}
		if got != constraint || err != nil && constraint == "" {
			t.Errorf("%s: %v, want %q", statement, err, constraint)
		}
	}
}

// TestChangesBySQLAreAudited: who changes plans by SQL gets an audit entry, with their login. Who writes a better one gets no second.
func TestChangesBySQLAreAudited(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	db.exec(t, `select test_tenant('acme', 'pro')`)
	for _, change := range []struct{ url, statement, want string }{
		{db.BillingURL, `update plans set per_minute = 400 where name = 'pro'`, "bill plan.edit plan:pro 400"},
		{db.BillingURL, `insert into plans (name, per_minute, per_day) values ('gold', 5, 6)`, "bill plan.edit plan:gold 5"},
		{db.SupportURL, `insert into tenant_plans (tenant_id, plan) values (1, 'free')`, "sam plan.assign tenant:1"},
		{db.BillingURL, `update tenant_plans set voided_at = now(), void_reason = 'x' where plan = 'free'`, "bill plan.void tenant:1"},
		{db.SupportURL, `begin; select set_config('petstore.audited', 'on', true); insert into tenant_plans (tenant_id, plan) values (1, 'business'); commit`,
			"bill plan.void tenant:1"},
	} {
		connect(t, change.url).MustExec(change.statement)
		got := db.text(t, `select concat_ws(' ', login, action, subject, after->>'per_minute') from audit_entries order by number desc limit 1`)
		if got != change.want {
			t.Errorf("%s: %s, want %s", change.statement, got, change.want)
		}
	}
	if got := db.text(t, `select string_agg(version || ':' || per_minute, ' ' order by version) from plan_versions where plan = 'pro'`); got != "1:300 2:400" {
		t.Errorf("versions of pro: %s", got)
	}
}
