package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/migrate"
)

// versionBeforeChain is the version of the schema in which the audit trail had no chain yet.
const versionBeforeChain = 12

// TestAuditMigration: entries from before get numbers without gaps and hashes, and lose the names that they held. On the way
// down the table is as it was.
func TestAuditMigration(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	down := func() {
		t.Helper()
		status, err := migrate.GetStatus(t.Context(), o.URL)
		if err == nil {
			err = migrate.Down(t.Context(), o.URL, int(status.Version-versionBeforeChain))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	down()
	o.exec(t, `
		insert into tenants (name, plan, created_at) values ('acme', 'pro', now());
		insert into audit_entries (at, actor, action, tenant_id, subject, before, after, reason) values
		('2026-11-20 10:30Z', 'jo', 'tenant.create', 1, 'acme', null, '{"name": "acme", "plan": "pro"}', 'order 17'),
		('2026-11-20 10:31Z', 'jo', 'key.issue', 1, 'key_x', null, '{"id": "key_x", "name": "ci"}', ''),
		('2026-11-20 10:32Z', 'jo', 'key.issue', 1, 'key_y', null, '{"id": "key_y"}', '');
		select nextval(pg_get_serial_sequence('audit_entries', 'id'));
		insert into audit_entries (at, actor, action, tenant_id, subject, before, after) values
		('2026-11-20 10:33Z', 'jo', 'key.edit', 1, 'key_x', '{"id": "key_x", "name": "ci"}', '{"id": "key_x", "name": "cd"}'),
		('2026-11-20 10:34Z', 'jo', 'key.revoke', 1, 'key_x', '{"id": "key_x", "name": "cd"}', '{"id": "key_x", "name": "cd"}'),
		('2026-11-20 10:35Z', 'jo', 'ban.place', 1, 'key_y', null, '{"key_id": "key_y", "reason": "scraping"}')`)
	if err := migrate.Up(t.Context(), o.URL); err != nil {
		t.Fatal(err)
	}
	entries := func() (rows []string) {
		t.Helper()
		o.rows(t, &rows, `select concat_ws(' ', number, tenant_id, subject, before, after) from audit_entries order by number`)
		return rows
	}
	if diff := cmp.Diff([]string{
		`1 1 tenant:1 {"plan": "pro", "redacted": ["name"]}`,
		`2 1 key_x {"id": "key_x", "redacted": ["name"]}`,
		`3 1 key_y {"id": "key_y"}`,
		`4 1 key_x {"id": "key_x"} {"id": "key_x", "redacted": ["name"]}`,
		`5 1 key_x {"id": "key_x"} {"id": "key_x"}`,
		`6 1 key_y {"key_id": "key_y", "redacted": ["reason"]}`,
	}, entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	o.wantIntact(t, 6)
	o.exec(t, `create or replace function past_until() returns timestamptz language sql as $$select timestamptz '-infinity'$$`)
	o.tenant(t, "zoo", plans.Free)
	o.wantIntact(t, 7)

	down()
	if got := o.text(t, `select string_agg(concat_ws(' ', id, actor, subject), ', ' order by id) from audit_entries where id in (1, 2, 7)`); got !=
		"1 jo acme, 2 jo key_x, 7 jo@support-3 zoo" {
		t.Errorf("after down: %s", got)
	}
	o.exec(t, `insert into audit_entries (at, actor, action, tenant_id, subject) values (now(), 'jo', 'key.revoke', 2, 'key_z')`)
	o.exec(t, `delete from audit_entries where id = 7`)
	if err := migrate.Up(t.Context(), o.URL); err != nil {
		t.Fatal(err)
	}
	if rows := entries(); len(rows) != 7 || rows[6] != "7 2 key_z" {
		t.Errorf("after down and up: %q", rows)
	}
	o.wantIntact(t, 7)
}
