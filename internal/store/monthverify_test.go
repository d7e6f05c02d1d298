package store_test

import (
	"errors"
	"strings"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage/closing"
)

// TestVerifyFinds what somebody alters who disables the triggers, and says where.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	const line, other = "the line of tenant 1 (acme) for assignment 1, version 1 of plan pro", "the line of tenant 1 (acme) for assignment 3, version 1 of plan business"
	for _, tt := range []struct{ name, statement, want string }{
		{"a count", `update usage_hourly set admitted = admitted - 1 where admitted = 8030`, line + ": admitted was sealed as 8040, and usage_hourly now makes it 8039"},
		{"a refusal", `update usage_hourly set refused = 0`, line + ": refused was sealed as 12, and usage_hourly now makes it 0"},
		{"a row less", `delete from usage_hourly where assignment = 3`, other + ": admitted was sealed as 44100, and usage_hourly now makes it 0"},
		{"a row more", `insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused) values (2, '2025-10-01Z', 'key_0000000000000002', 2, 1, 1, 0)`, "the line of tenant 2 (zoo) for assignment 2, version 1 of plan free: admitted was sealed as 0, and usage_hourly now makes it 1"},
		{"requests in another hour", `update usage_hourly set admitted = case admitted when 10 then 11 else 8029 end where assignment = 1`, line + ": the sums are right, but the hours or keys of the requests were changed in usage_hourly"},
		{"another assignment", `update usage_hourly set assignment = 3 where admitted = 8030`, line + ": admitted was sealed as 8040, and usage_hourly now makes it 10"},
		{"a plan", `update tenant_plans set plan = 'free' where id = 1`, line + ": plan was sealed as pro, and tenant_plans now makes it free"},
		{"a time", `update tenant_plans set valid_from = '2025-10-21Z' where id = 3`, line + ": to was sealed as 2025-10-20T10:30:00Z, and tenant_plans or plan_versions now makes it 2025-10-21T00:00:00Z"},
		{"a tenant that is gone from the plans", `delete from tenant_plans where id = 2`, "the line of tenant 2 (zoo) for assignment 2, version 1 of plan free is sealed, but what it counts is no longer recorded: see usage_hourly and tenant_plans"},
		{"a tenant more", `insert into tenants (name, created_at) values ('new', '2025-10-02Z'); insert into tenant_plans (tenant_id, valid_from, plan) values (3, '2025-10-02Z', 'free')`, "the line of tenant 3 (new) for assignment 4, version 1 of plan free is not sealed, but is recorded: see usage_hourly and tenant_plans"},
		{"numbers", `update plan_versions set per_day = 20000 where plan = 'pro'`, line + ": per_day was sealed as 10000, and tenant_plans or plan_versions now makes it 20000"},
		{"a suspension", `delete from tenant_suspensions`, other + ": suspended_seconds was sealed as 3600, and tenant_suspensions now makes it 0"},
		{"late usage that was there", `insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused, server_id) values ('2025-10-01', 1, '2025-09-01Z', 'key_0000000000000001', 1, 1, 5, 0, 's1')`, "the correction of 2025-09 of tenant 1 (acme) for assignment 1, version 1 of plan pro is not sealed, but is recorded: see usage_late and tenant_plans"},
		{"a form", `update usage_lines set form = replace(form, '8040', '8041')`, "line 1 of tenant 1 in usage_lines was altered: its sha256 is not that of its form"},
		{"a form and its hash", `update usage_lines set form = replace(form, '8040', '8041'), sha256 = sha256(convert_to(replace(form, '8040', '8041'), 'UTF8'))`, ". The first difference to what is recorded: " + line + ": admitted was sealed as 8041, and usage_hourly now makes it 8040"},
		{"a sealed line less", `delete from usage_lines where number = 1 and tenant_id = 1`, "line 2 of tenant 1 in usage_lines follows line 0: lines were removed or added"},
		{"a sealed tenant less", `delete from usage_lines where tenant_id = 2`, "usage_lines was altered: its 2 lines of 1 tenants have the root "},
		{"a root", `update usage_months set root = sha256('')`, "usage_months was altered: it has root e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, and entry "},
		{"a sum", `update usage_months set admitted = 1`, "usage_months was altered: it has admitted 1, and entry "},
		{"a server left out", `update usage_months set without = '{s9}'`, "usage_months was altered: it has without [s9], and entry "},
		{"what was void", `update usage_months set void = '{1}'`, "the void line of 2025-10 of tenant 1 (acme) for assignment 1, version 1 of plan pro is not sealed, but is recorded: see usage_months, usage_lines and tenant_plans"},
		{"no audit entry", `delete from audit_entries`, "the audit trail has no entry of login "},
		{"a tenant that was renamed", `update tenants set name = 'acme2' where id = 1`, ""},
		{"nothing", `update usage_hourly set minute = 5`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBooks(t)
			b.fill(t)
			b.close(t, oct)
			b.exec(t, `set session_replication_role = replica; alter table audit_entries disable trigger user; `+tt.statement)
			if got := b.verify(t, oct); got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
				t.Errorf("found %q\nwant  %q", got, tt.want)
			}
		})
	}
}

// TestFalseEntries: an audit entry that somebody adds by SQL neither makes a closed month differ nor hides that it does. It is named with its login.
func TestFalseEntries(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.fill(t)
	add := func(url string) {
		t.Helper()
		if _, err := connect(t, url).ExecContext(t.Context(), `insert into audit_entries (claimed_actor, action, subject, after) values ('bill', 'usage.close', 'month:2025-10', '{"month": "2025-10", "lines": "x"}')`); err != nil {
			t.Fatal(err)
		}
	}
	add(b.BillingURL)
	b.close(t, oct)
	add(b.SupportURL)
	verify := func(difference string) {
		t.Helper()
		v, err := b.billing.Months.Verify(t.Context(), oct)
		if err != nil || len(v.FalseEntries) != 2 || !strings.Contains(v.FalseEntries[0], "login "+storetest.BillingLogin) || !strings.Contains(v.FalseEntries[1], "login "+storetest.SupportLogin) {
			t.Errorf("false entries %q, %v: want those of billing and support", v.FalseEntries, err)
		}
		if !strings.HasPrefix(v.Difference, difference) || difference == "" && v.Difference != "" {
			t.Errorf("found %q, want %q", v.Difference, difference)
		}
	}
	verify("")
	b.exec(t, `set session_replication_role = replica; update usage_months set admitted = 1`)
	verify("usage_months was altered: it has admitted 1, and entry ")
}

func TestProve(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.fill(t)
	if _, err := b.billing.Months.Prove(t.Context(), "acme", oct); !errors.Is(err, store.ErrMonthOpen) {
		t.Errorf("of an open month: %v", err)
	}
	m := b.close(t, oct)
	p, err := b.billing.Months.Prove(t.Context(), "zoo", oct)
	if err != nil {
		t.Fatal(err)
	}
	if p.Month.Root != m.Root || p.Index != 1 || len(p.Path) != 1 || len(p.Forms) != 1 || p.Leaf != closing.Leaf(p.Forms) {
		t.Errorf("zoo's proof: %+v", p)
	}
	b.exec(t, `insert into tenants (name, created_at) values ('late', '2025-11-02Z'); insert into tenant_plans (tenant_id, valid_from, plan) values (3, '2025-11-02Z', 'free')`)
	for tenant, want := range map[string]error{"late": store.ErrNoLines, "nobody": plans.ErrTenantNotFound} {
		if _, err := b.billing.Months.Prove(t.Context(), tenant, oct); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", tenant, err, want)
		}
	}
	b.exec(t, `set session_replication_role = replica; delete from usage_lines where tenant_id = 2`)
	for _, tenant := range []string{"acme", "zoo"} {
		if _, err := b.billing.Months.Prove(t.Context(), tenant, oct); !errors.Is(err, store.ErrAltered) && !errors.Is(err, store.ErrNoLines) {
			t.Errorf("%s's proof of altered lines: %v", tenant, err)
		}
	}
}
