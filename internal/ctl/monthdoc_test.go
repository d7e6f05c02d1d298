package ctl

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestMonthOfBilling runs the month of docs/billing.md day by day on one database, with the logins of a person in support and of one in
// billing.
func TestMonthOfBilling(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	d := &docRun{url: database.URL, actual: map[string]string{}, documented: map[string]string{}}
	execSQL(t, d.url, `
		insert into tenants (name, created_at, billing_ref) values ('acme', '2026-09-01Z', 'cus_N4a1'), ('globex', '2026-09-15Z', null);
		insert into tenant_plans (tenant_id, valid_from, plan) values (1, '2026-09-01Z', 'pro'), (2, '2026-09-15Z', 'business');
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_000000000000000' || n, n, 'live', sha256(n::text::bytea), '0001', '2026-09-01Z' from generate_series(1, 2) n;
		insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused) values
		  (1, '2026-10-02 09:00Z', 'key_0000000000000001', 1, 1, 8030, 12), (1, '2026-10-20 10:00Z', 'key_0000000000000001', 1, 1, 9100, 0),
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
		if strings.HasPrefix(command, "petstorectl plan assign acme pro") {
			execSQL(t, d.url, `insert into tenant_plans (tenant_id, valid_from, plan) values (1, '2026-11-13 16:20Z', 'business')`)
		}
		if strings.HasPrefix(command, "petstorectl plan edit") && strings.HasSuffix(command, "--dry-run") {
			execSQL(t, d.url, `insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused) 
				select 1, timestamptz '2026-11-05 10:00Z', 'key_0000000000000001', id, 1, 9000, 0 from tenant_plans where kind = 'boost'
				union all select 2, '2026-11-19 10:00Z', 'key_0000000000000002', 2, 1, 51300, 40`)
		}
		if command == "petstorectl usage export --month 2026-11 -o table" {
			// A server was back on 3 November.
			execSQL(t, d.url, `
				select add_usage('d4s6v8qk3m5t0b2n7c1f', 2, 0, '{1}', '{1792576800}', '{key_0000000000000001}', '{1}', '{1}', '{9}', '{0}', '{0}', '{0}', '{0}', '{}', '{}')`)
		}
	}
	page, err := os.ReadFile("../../docs/billing.md")
	assert.NoError(t, err)
	days := regexp.MustCompile(`(?m)^### (\d+) November: .*$`).FindAllStringSubmatch(string(page), -1)
	if len(days) < 5 {
		t.Fatalf("docs/billing.md has %d days", len(days))
	}
	for _, day := range days {
		if d.now, err = time.Parse("2 January 2006 15:04", day[1]+" November 2026 09:00"); err != nil {
			t.Fatal(err)
		}
		d.file(t, "../../docs/billing.md", day[0])
	}
}

// support are the commands of the page that are for support.
var support = regexp.MustCompile(`^petstorectl (tenant (create|edit)|plan (assign|boost|unschedule)) `)
