package ctl

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestMonthOfBilling runs the month of docs/billing.md day by day on one database, with the logins
// of a person in support and of one in billing.
func TestMonthOfBilling(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	d := &docRun{url: database.URL, actual: map[string]string{}, documented: map[string]string{}}
	stripe := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(stripe.Close)
	d.receiver = filepath.Join(t.TempDir(), "stripe.receiver")
	assert.NoError(t, os.WriteFile(d.receiver, []byte("FORMAT=stripe\nURL="+stripe.URL+"\n"), 0o600))
	execSQL(t, d.url, `
		insert into tenants (name, created_at, billing_ref) values ('acme', '2026-09-01Z', 'cus_N4a1'), ('globex',
			'2026-09-15Z', null);
		insert into tenant_plans (tenant_id, valid_from, plan) values (1, '2026-09-01Z', 'pro'), (2, '2026-09-15Z',
			'business');
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_000000000000000' || n, n, 'live', sha256(n::text::bytea), '0001', '2026-09-01Z' from
			generate_series(1, 2) n;
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused) values
		  (1, '2026-10-02 09:00Z', 'key_0000000000000001', 1, 1, 8030, 12), (1, '2026-10-20 10:00Z',
		      'key_0000000000000001', 1, 1, 9100, 0),
		  (2, '2026-10-30 10:00Z', 'key_0000000000000002', 2, 1, 44100, 0);
		insert into usage_writers (server_id, batch, written_at, delivered_to)
		values ('d4s6v8qk3m5t0b2n7c1g', 1, '2026-11-01 00:01Z', '2026-11-01 00:00:50Z')`)
	d.login = func(command string) string {
		if support.MatchString(command) {
			return database.SupportURL
		}
		return database.BillingURL
	}
	d.before = func(command string) {
		// Postgres has a clock of its own.
		execSQL(t, d.url, `set session_replication_role = replica;
			update usage_months set sealed_at = '2026-11-01 09:00Z' where sealed_at is not null`)
		if strings.HasPrefix(command, "petstorectl usage hand-on") {
			execSQL(t, d.url, `update usage_writers set delivered_to = '2026-11-02 09:00Z'`)
		}
		if strings.HasPrefix(command, "petstorectl plan assign acme pro") {
			execSQL(
				t,
				d.url,
				`insert into tenant_plans (tenant_id, valid_from, plan) values (1, '2026-11-13 16:20Z', 'business')`,
			)
		}
		if strings.HasPrefix(command, "petstorectl plan edit") && strings.HasSuffix(command, "--dry-run") {
			execSQL(
				t,
				d.url,
				`insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused) 
				select 1, timestamptz '2026-11-05 10:00Z', 'key_0000000000000001', id, 1, 9000, 0 from tenant_plans
					where kind = 'boost'
				union all select 2, '2026-11-19 10:00Z', 'key_0000000000000002', 2, 1, 51300, 40`,
			)
		}
		if command == "petstorectl usage export --month 2026-11 -o table" {
			// A server was back on 3 November.
			execSQL(t, d.url, `
				select add_usage('d4s6v8qk3m5t0b2n7c1f', 2, 0, '{1}', '{1792576800}', '{key_0000000000000001}', '{1}',
					'{1}', '{9}', '{0}', '{0}', '{0}', '{0}', '{}', '{}')`)
		}
	}
	page, err := os.ReadFile("../../docs/billing.md")
	assert.NoError(t, err)
	days := regexp.MustCompile(`(?m)^### (\d+) November: .*$`).FindAllStringSubmatch(string(page), -1)
	if len(days) < 5 {
		t.Fatalf("docs/billing.md has %d days", len(days))
	}
	for _, day := range days {
		d.now, err = time.Parse("2 January 2006 15:04", day[1]+" November 2026 09:00")
		assert.NoError(t, err)
		d.file(t, "../../docs/billing.md", day[0])
	}
}

// support are the commands of the page that are for support.
var support = regexp.MustCompile(`^petstorectl (tenant (create|edit)|plan (assign|boost|unschedule)) `)

// TestMonthClosesExamples runs the examples of "The month closes" in docs/billing.md.
func TestMonthClosesExamples(t *testing.T) {
	t.Parallel()
	d := newDocRun(t)
	d.now = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	execSQL(t, d.url, `
		insert into tenants (name, created_at) values ('acme', '2026-09-01Z'), ('zoo', '2026-09-15Z');
		insert into tenant_plans (tenant_id, valid_from, plan) values (1, '2026-10-01Z', 'pro'), (2, '2026-10-01Z',
			'free'), (1, '2026-10-20 10:30Z', 'business');
		insert into tenant_suspensions (tenant_id, valid_from, valid_to) values (2, '2026-10-12Z', '2026-10-13Z');
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_000000000000000' || n, n, 'live', sha256(n::text::bytea), '0001', '2026-10-01Z' from
			generate_series(1, 2) n;
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused) values
		  (1, '2026-10-02 09:00Z', 'key_0000000000000001', 1, 1, 8030, 12), (1, '2026-10-20 10:00Z',
		      'key_0000000000000001', 1, 1, 10, 0),
		  (1, '2026-10-20 10:00Z', 'key_0000000000000001', 3, 1, 44100, 0), (2, '2026-10-31 23:00Z',
		      'key_0000000000000002', 2, 1, 7, 1),
		  (1, '2026-11-01 08:00Z', 'key_0000000000000001', 3, 1, 650, 0);
		insert into usage_writers (server_id, batch, written_at, delivered_to)
		values ('d4s6v8qk3m5t0b2n7c1g', 1, '2026-10-31 23:59:30Z', '2026-10-31 23:59:20Z')`)
	d.before = func(string) {
		// Postgres has a clock of its own.
		execSQL(
			t,
			d.url,
			`set session_replication_role = replica; update usage_months set sealed_at = '2026-11-02 09:00Z',
				sealed_by = 'bob' where sealed_at is not null`,
		)
		assert.NoError(t, pinAudit(t.Context(), d.url, "2026-11-02 09:00Z", "bob"))
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

// TestPriceListExamples runs the examples of "The price list" in docs/billing.md, on a database
// with two tenants and their usage.
func TestPriceListExamples(t *testing.T) {
	t.Parallel()
	d := newDocRun(t)
	d.now = time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC)
	for _, command := range []string{
		"petstorectl tenant create acme --plan pro --reason signed", "petstorectl key issue acme",
		"petstorectl tenant create zoo --plan pro",
	} {
		d.run(t, command)
	}
	d.now = time.Time{}
	db, err := sql.Open("postgres", d.url)
	assert.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `
		select test_usage(tenant_id, h, id, 'pro', a, r) from api_keys,
		  (values (timestamptz '2026-11-18 14:00Z', 9400, 0), ('2026-11-19 14:00Z', 8030, 12), ('2026-11-20 09:00Z',
		      3100, 0)) v (h, a, r)`)
	assert.NoError(t, err)
	d.file(t, "../../docs/billing.md", "## The price list")
}
