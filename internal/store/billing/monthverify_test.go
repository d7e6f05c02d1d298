package billing_test

import (
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
)

// TestVerifyFinds what somebody alters who disables the triggers, and says where.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	const acme, zoo = "tenant 1 (acme): 2 lines, 52140 admitted and 12 refused are sealed; ",
		"tenant 2 (zoo): 1 lines, 0 admitted and 0 refused are sealed; "
	const same = "2 lines, 52140 admitted and 12 refused are recorded; "
	b := fixture.NewFilledBooks(t)
	b.Close(t, fixture.Oct)
	for _, tt := range []struct{ name, statement, want string }{
		{"a count", `update usage_hourly set admitted = admitted - 1 where admitted = 8030`, acme +
			"2 lines, 52139 admitted and 12 refused are recorded; line 1 differs in admitted, recorded_sha256"},
		{"a refusal", `update usage_hourly set refused = 0`, acme +
			"2 lines, 52140 admitted and 0 refused are recorded; line 1 differs in recorded_sha256, refused"},
		{"a row less", `delete from usage_hourly where assignment = 3`, acme +
			"2 lines, 8040 admitted and 12 refused are recorded; line 2 differs in admitted"},
		{"a row more", `insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
			values (2, '2025-10-01Z', 'key_0000000000000002', 2, 1, 1, 0)`, zoo +
			"1 lines, 1 admitted and 0 refused are recorded; line 1 differs in admitted"},
		{"requests in another hour", `update usage_hourly set admitted = case admitted when 10 then 11 else 8029 end
			where assignment = 1`, acme + same + "line 1 differs in recorded_sha256"},
		{"another assignment", `update usage_hourly set assignment = 3 where admitted = 8030`, acme + same +
			"line 1 differs in admitted"},
		{"a plan", `update tenant_plans set plan = 'free' where id = 1`, acme + same +
			"line 1 differs in per_day, per_minute, plan"},
		{"a time", `update tenant_plans set valid_from = '2025-10-21Z' where id = 3`, acme + same +
			"line 1 differs in to"},
		{"a tenant that is gone from the plans", `delete from tenant_plans where id = 2`, zoo +
			"0 lines, 0 admitted and 0 refused are recorded"},
		{"a tenant that is gone", `delete from tenants where id = 2`, zoo +
			"0 lines, 0 admitted and 0 refused are recorded"},
		{"a tenant more", `insert into tenants (name, created_at) values ('new', '2025-10-02Z'); insert into
			tenant_plans (tenant_id, valid_from, plan) values (3, '2025-10-02Z', 'free')`, "tenant 3 (new): 0 " +
			"lines, 0 admitted and 0 refused are sealed; 1 lines, 0 admitted and 0 refused are recorded"},
		{"numbers", `update plan_versions set per_day = 20000 where plan = 'pro'`, acme + same +
			"line 1 differs in per_day"},
		{"two tenants", `update plan_versions set per_day = 20000 where plan in ('pro', 'free')`, acme + same +
			"line 1 differs in per_day\n" + zoo +
			"1 lines, 0 admitted and 0 refused are recorded; line 1 differs in per_day"},
		{"a suspension", `delete from tenant_suspensions`, acme + same + "line 2 differs in suspended_seconds"},
		{"late usage that was there",
			`insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused,
				server_id) values ('2025-10-01', 1, '2025-09-01Z', 'key_0000000000000001', 1, 1, 5, 0, 's1')`, acme +
				"3 lines, 52145 admitted and 12 refused are recorded"},
		{"a form", `update usage_lines set form = replace(form, '8040', '8041')`,
			"line 1 of tenant 1 in usage_lines was altered: its form, sha256, tenant and month do not belong " +
				"together\ntenant 1 (acme): 2 lines, 52141 admitted"},
		{"a name", `update usage_lines set form = replace(form, 'acme', 'erased-1')`,
			"line 1 of tenant 1 in usage_lines was altered"},
		{"a form and its hash", `update usage_lines set form = replace(form, '8040', '8041'), sha256 =
			sha256(convert_to(replace(form, '8040', '8041'), 'UTF8'))`, "tenant 1 (acme): 2 lines, 52141 admitted " +
			"and 12 refused are sealed; " + same +
			"line 1 differs in admitted\nusage_lines has 3 lines of 2 tenants, "},
		{"a form, its hash and what is recorded",
			`update usage_lines set form = replace(form, '"refused":12', '"refused":13'), sha256 =
				sha256(convert_to(replace(form, '"refused":12', '"refused":13'), 'UTF8')); update usage_hourly set
					refused = 13 where refused = 12`, "usage_lines has 3 lines of 2 tenants, "},
		{"no form", `update usage_lines set form = replace(form, '{', '{ ')`,
			"line 1 of tenant 1 in usage_lines was altered"},
		{"a line of another tenant", `update usage_lines set tenant_id = 3 where tenant_id = 2`,
			"line 3 of tenant 3 in usage_lines was altered"},
		{"a sealed line less", `delete from usage_lines where number = 1`,
			"tenant 1 (acme): 1 lines, 44100 admitted and 0 refused are sealed; " + strings.TrimSuffix(same, "; ") +
				"\nusage_lines has 2 lines of 2 tenants, "},
		{"a sealed line more", `insert into usage_lines (month, tenant_id, number, form, sha256) select month,
			tenant_id, 9, form, sha256 from usage_lines where number = 2`, "tenant 1 (acme): 3 lines, 96240 " +
			"admitted and 12 refused are sealed; "},
		{"a sealed tenant less", `delete from usage_lines where tenant_id = 2`,
			"tenant 2 (zoo): 0 lines, 0 admitted and 0 refused are sealed; 1 lines, 0 admitted and 0 refused are " +
				"recorded\nusage_lines has 2 lines of 1 tenant, "},
		{"all lines", `delete from usage_lines`, "usage_lines has 0 lines of 0 tenants"},
		{"a seal", `update usage_months set sha256 = sha256('')`,
			"usage_months was altered: entry 4 of the audit trail has another sha256\nusage_lines has 3 lines"},
		{"a sum", `update usage_months set admitted = 1`,
			"usage_months was altered: entry 4 of the audit trail has another admitted\nusage_lines has 3 lines of " +
				"2 tenants, 52140 admitted"},
		{"a server left out", `update usage_months set without = '{s9}'`,
			"usage_months was altered: entry 4 of the audit trail has another without"},
		{"a false entry in its place", `update audit_entries set after = jsonb_set(after, '{refused}', '0')`,
			"usage_months was altered: entry 4 of the audit trail has another refused"},
		{"what was void", `update usage_months set void = '{1}'`, acme +
			"3 lines, 44100 admitted and 0 refused are recorded"},
		{"no audit entry", `delete from audit_entries`, "the audit trail has no entry of login "},
		{"a tenant that was renamed", `update tenants set name = 'acme2' where id = 1`, ""},
		{"nothing", `update usage_hourly set minute = 5`, ""},
	} {
		b.Tampered(t, tt.name, tt.statement, func(t *testing.T) {
			if got := b.Verify(t, fixture.Oct); got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
				t.Errorf("found %q\nwant  %q", got, tt.want)
			}
		})
	}
}

// agreedMonth gives acme a month from November on.
const agreedMonth = `
	insert into tenant_plans (tenant_id, valid_from, plan, per_minute, per_day, month, per_month, overage)
	values (1, '2025-11-01Z', 'enterprise', 10, 100, 'some', 100, 'unlimited')`

// TestVerifyFindsTotals: verify compares the running totals of a month, by which the limiter counts,
// with the records, also when those are summed by day; doctor does with the present month.
func TestVerifyFindsTotals(t *testing.T) {
	t.Parallel()
	b := fixture.NewBooks(t)
	b.Exec(t, agreedMonth)
	b.Deliver(
		t,
		"s1",
		fixture.Dec,
		fixture.Used(4, fixture.Nov, 150, 3),
		fixture.Used(4, fixture.Nov.Add(time.Hour), 7, 0),
	)
	b.Close(t, fixture.Nov)
	assert.Equal(t, b.Verify(t, fixture.Nov), "", "as it was closed")
	const wrong = "tenant_months was altered: the totals of 1 tenants differ from the recorded usage, such as that " +
		"of acme"
	altered := func(statement string) {
		t.Helper()
		b.Exec(t, statement)
		assert.Equal(t, b.Verify(t, fixture.Nov), wrong, statement)
	}
	altered(`update tenant_months set admitted = 156`)
	altered(`delete from tenant_months`)
	b.Exec(t, `insert into tenant_months (tenant_id, month, admitted) values (1, '2025-11-01', 157)`)
	assert.Equal(t, b.Verify(t, fixture.Nov), "", "put back")
	b.EndPartition(t, fixture.Dec)
	assert.Equal(t, b.RollUp(t, 1000), 2, "hours that were summed by day")
	assert.Equal(t, b.Verify(t, fixture.Nov), "", "by day")
	altered(`update tenant_months set admitted = 0`)
}

// TestFalseEntries: an audit entry that somebody adds by SQL neither makes a closed month differ
// nor hides that it does. It is named with its login.
func TestFalseEntries(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	add := func(url string) {
		t.Helper()
		if _, err := fixture.Connect(
			t,
			url,
		).ExecContext(
			t.Context(),
			`insert into audit_entries (claimed_actor, action, subject, after) values ('bill', 'usage.close',
				'month:2025-10', '{"month": "2025-10", "lines": "x"}')`,
		); err != nil {
			t.Fatal(err)
		}
	}
	add(b.BillingURL)
	b.Close(t, fixture.Oct)
	add(b.SupportURL)
	verify := func(difference string) {
		t.Helper()
		v, err := b.Billing.Months.Verify(t.Context(), fixture.Oct)
		if err != nil || len(v.Notes) != 2 ||
			!strings.Contains(v.Notes[0], "login "+storetest.BillingLogin) ||
			!strings.Contains(v.Notes[1], "login "+storetest.SupportLogin) {
			t.Errorf("false entries %q, %v: want those of billing and support", v.Notes, err)
		}
		if got := strings.Join(
			v.Differences,
			"",
		); !strings.HasPrefix(got, difference) ||
			difference == "" && got != "" {
			t.Errorf("found %q, want %q", got, difference)
		}
	}
	verify("")
	b.Exec(t, `set session_replication_role = replica; update usage_months set admitted = 1`)
	verify("usage_months was altered: entry ")
}

// TestVerifyNamesTenants names some, however many differ, and counts the others.
func TestVerifyNamesTenants(t *testing.T) {
	t.Parallel()
	b := fixture.NewFilledBooks(t)
	b.Close(t, fixture.Oct)
	b.Exec(t, `insert into tenants (name, created_at) select 'new-' || n, '2025-10-02Z' from generate_series(1, 23) n`)
	b.Exec(
		t,
		`insert into tenant_plans (tenant_id, valid_from, plan) select id, '2025-10-02Z', 'free' from tenants where id
			> 2`,
	)
	v, err := b.Billing.Months.Verify(t.Context(), fixture.Oct)
	if err != nil || len(v.Differences) != 21 || !strings.HasPrefix(v.Differences[19], "tenant 22 (new-20): 0 lines") ||
		v.Differences[20] != "there are 3 more differences" {
		t.Errorf("%d differences, %q, %v", len(v.Differences), v.Differences, err)
	}
}
