package pricing_test

import (
	"testing"

	"github.com/lib/pq"

	"petstore.example/internal/test/fixture"
)

// TestThePastIsNotChanged: who works by SQL can't change what was in force, whatever their role;
// only what has not begun.
func TestThePastIsNotChanged(t *testing.T) {
	t.Parallel()
	db := fixture.NewDatabase(t)
	db.Exec(t, `
		select test_tenant('acme', 'pro');
		insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day) values ('pro', 2, 2,
			now() + interval '1 hour', 400, 20000);
		insert into tenant_plans (tenant_id, plan, valid_from) values (1, 'free', now() + interval '1 hour'), (1,
			'pro', now() + interval '1.5 seconds');
		create or replace function past_until() returns timestamptz language sql stable as 'select now()'`)
	for statement, constraint := range map[string]string{
		`insert into tenant_plans (tenant_id, plan, valid_from) values (1, 'free', now() ` +
			`- interval '1 second')`: "tenant_plans_past",
		`insert into tenant_plans (tenant_id, plan, generation) values (1, 'pro', 2)`: "tenant_plans_generation",
		`insert into tenant_plans (tenant_id, plan, generation) values (1, 'pro', 1)`: "",
		`insert into tenant_plans (tenant_id, plan) values (1, 'enterprise')`:         "tenant_plans_numbers",
		`insert into tenant_plans (tenant_id, plan, per_minute, per_day) values (1, ` +
			`'pro', 1, 1)`: "tenant_plans_numbers",
		`insert into tenant_plans (tenant_id, plan, kind, per_minute, per_day) values (1, ` +
			`'pro', 'boost', 1, 1)`: "",
		`update tenant_plans set plan = 'free'`:                        "tenant_plans_begun",
		`update tenant_plans set voided_at = now(), void_reason = 'x'`: "",
		`delete from tenant_plans where id = 1`:                        "tenant_plans_begun",
		`delete from tenant_plans where id = 2`:                        "",
		`delete from tenant_plans where id = 3`:                        "tenant_plans_begun",
		`delete from tenants`:                                          "",
		`update plan_versions set per_minute = 1 where plan = 'pro'`:   "plan_versions_begun",
		`delete from plan_versions where plan = 'pro' and version = 1`: "plan_versions_begun",
		`delete from plan_versions where plan = 'pro' and version = 2`: "",
		`insert into plan_versions values ('free', 2, 1, now() - interval '1 second', 1, ` +
			`1)`: "plan_versions_past",
		`insert into plan_versions values ('pro', 3, 2, now() + interval '10 minutes', 1, ` +
			`1)`: "plan_versions_order",
		`insert into plan_versions values ('free', 3, 1, now(), 1, 1)`:       "plan_versions_number",
		`insert into plan_versions values ('free', 2, 1, now(), null, null)`: "plan_versions_numbers",
		`update plans set per_minute = 90 where name = 'free'; update plans set ` +
			`per_minute = 91 where name = 'free'`: "",
		`update plans set retires_at = now() where name = 'free'; insert into tenant_plans (tenant_id, plan) values
			(1, 'free')`: "tenant_plans_retired",
	} {
		err := fixture.Attempt(t, db.Owner, `select 1`, statement)
		got := ""
		if e := pq.As(err); e != nil {
			got = e.Constraint
		}
		if got != constraint || err != nil && constraint == "" {
			t.Errorf("%s: %v, want %q", statement, err, constraint)
		}
	}
}

// TestChangesBySQLAreAudited: who changes plans by SQL gets an audit entry, with their login. Who
// writes a better one gets no second.
func TestChangesBySQLAreAudited(t *testing.T) {
	t.Parallel()
	db := fixture.NewDatabase(t)
	db.Exec(t, `select test_tenant('acme', 'pro')`)
	for _, change := range []struct{ url, statement, want string }{
		{db.BillingURL, `update plans set per_minute = 400 where name = 'pro'`, "bill plan.edit plan:pro 400"},
		{db.BillingURL, `insert into plans (name, per_minute, per_day) values ('gold', 5, 6)`,
			"bill plan.edit plan:gold 5"},
		{db.SupportURL, `insert into tenant_plans (tenant_id, plan) values (1, 'free')`, "sam plan.assign tenant:1"},
		{db.BillingURL, `update tenant_plans set voided_at = now(), void_reason = 'x' where plan = 'free'`,
			"bill plan.void tenant:1"},
		{db.SupportURL, `begin; select set_config('petstore.audited', 'on', true); insert into tenant_plans
			(tenant_id, plan) values (1, 'business'); commit`,
			"bill plan.void tenant:1"},
	} {
		fixture.Connect(t, change.url).MustExec(change.statement)
		got := db.Text(
			t,
			`select concat_ws(' ', login, action, subject, after->>'per_minute') from audit_entries order by number
				desc limit 1`,
		)
		if got != change.want {
			t.Errorf("%s: %s, want %s", change.statement, got, change.want)
		}
	}
	db.Want(
		t,
		"1:300 2:400",
		`select string_agg(version || ':' || per_minute, ' ' order by version) from plan_versions where plan = 'pro'`,
	)
}
