package ctl

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
)

// TestMonthClosesExamples runs the examples of "The month closes" in docs/billing.md.
func TestMonthClosesExamples(t *testing.T) {
	t.Parallel()
	d := newDocRun(t)
	d.now = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	execSQL(t, d.url, `
		insert into tenants (name, created_at) values ('acme', '2026-09-01Z'), ('zoo', '2026-09-15Z');
		insert into tenant_plans (tenant_id, valid_from, plan) values (1, '2026-10-01Z', 'pro'), (2, '2026-10-01Z', 'free'), (1, '2026-10-20 10:30Z', 'business');
		insert into tenant_suspensions (tenant_id, valid_from, valid_to) values (2, '2026-10-12Z', '2026-10-13Z');
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_000000000000000' || n, n, 'live', sha256(n::text::bytea), '0001', '2026-10-01Z' from generate_series(1, 2) n;
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused) values
		  (1, '2026-10-02 09:00Z', 'key_0000000000000001', 1, 1, 8030, 12), (1, '2026-10-20 10:00Z', 'key_0000000000000001', 1, 1, 10, 0),
		  (1, '2026-10-20 10:00Z', 'key_0000000000000001', 3, 1, 44100, 0), (2, '2026-10-31 23:00Z', 'key_0000000000000002', 2, 1, 7, 1),
		  (1, '2026-11-01 08:00Z', 'key_0000000000000001', 3, 1, 650, 0);
		insert into usage_writers (server_id, batch, written_at, delivered_to)
		values ('d4s6v8qk3m5t0b2n7c1g', 1, '2026-10-31 23:59:30Z', '2026-10-31 23:59:20Z')`)
	d.before = func(command string) {
		// Postgres has a clock of its own.
		execSQL(t, d.url, `set session_replication_role = replica; update usage_months set sealed_at = '2026-11-02 09:00Z', sealed_by = 'bob' where sealed_at is not null`)
		assert.NoError(t, pinAudit(t.Context(), d.url, "2026-11-02 09:00Z", "bob"))
		if strings.Contains(command, "2026-11 --tenant acme") {
			// The server is back, with what it had not recorded.
			execSQL(t, d.url, `select add_usage('d4s6v8qk3m5t0b2n7c1g', 2, 0, '{1}', '{1793487600}', '{key_0000000000000001}', '{3}', '{1}', '{9}', '{0}', '{0}', '{0}', '{0}', '{}', '{}')`)
		}
	}
	d.file(t, "../../docs/billing.md", "## The month closes")
}

func execSQL(t *testing.T, url, statement string) {
	t.Helper()
	db, err := sql.Open("postgres", url)
	assert.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), statement)
	assert.NoError(t, err)
}
