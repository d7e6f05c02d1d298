package ctl

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// TestMonthOfBilling runs the month of docs/billing.md day by day on one database, with the logins
// of a person in support and of one in billing.
func TestMonthOfBilling(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	d := &docRun{url: database.URL, actual: map[string]string{}, documented: map[string]string{}}
	stripe := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(stripe.Close)
	d.receivers = t.TempDir()
	for name, value := range map[string]string{"stripe": "admitted", "stripe-overage": "overage"} {
		text := "FORMAT=stripe\nVALUE=" + value + "\nURL=" + stripe.URL + "\n"
		assert.NoError(t, os.WriteFile(filepath.Join(d.receivers, name+".receiver"), []byte(text), 0o600))
	}
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
			execSQL(t, d.url, fmt.Sprintf(`update usage_writers set delivered_to = '%s'
				where server_id = 'd4s6v8qk3m5t0b2n7c1g'`, d.now.Format(time.RFC3339)))
		}
		execSQL(t, d.url, fmt.Sprintf(`
			insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
			select t.id, u.hour, 'key_0000000000000003', a.id, 1, u.admits, 0
			from (values ('growth', 'assign', timestamptz '2026-11-05 10:00Z', 104000),
				('growth', 'boost', '2026-11-10 10:00Z', 36000), ('enterprise', 'assign', '2026-11-18 10:00Z', 155000))
				u (plan, kind, hour, admits)
			join tenant_plans a using (plan, kind) join tenants t on t.id = a.tenant_id and t.name = 'hooli'
			where u.hour < '%s' on conflict do nothing`, d.now.Format(time.RFC3339)))
		if d.now.Day() == 9 {
			// A server died on the 6th.
			execSQL(t, d.url, `
				insert into usage_writers (server_id, batch, written_at, delivered_to)
				values ('d4s6v8qk3m5t0b2n7c1f', 1, '2026-11-06 20:10Z', '2026-11-06 20:10:31Z') on conflict do nothing;
				insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
				select tenant_id, hour, 'key_000000000000000' || tenant_id, id, 1, admits, 0
				from tenant_plans join (values (1, 'boost', timestamptz '2026-11-05 10:00Z', 9000),
					(4, 'assign', '2026-11-05 11:00Z', 120), (4, 'assign', '2026-11-07 11:00Z', 40))
					u (tenant_id, kind, hour, admits)
				using (tenant_id, kind)
				on conflict do nothing`)
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
				values (2, '2026-11-19 10:00Z', 'key_0000000000000002', 2, 1, 51300, 40)`,
			)
		}
		if command == "petstorectl usage export --month 2026-11 -o table" {
			// The disk of the server was found.
			execSQL(t, d.url, `
				select add_usage('d4s6v8qk3m5t0b2n7c1f', 2, 0, '{1}', '{1792576800}', '{key_0000000000000001}', '{1}',
					'{1}', '{9}', '{0}', '{0}', '{0}', '{0}', '{}', '{}');
				set session_replication_role = replica;
				update usage_late set arrived_at = '2026-11-30 08:00Z'`)
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
	d.run(t, `petstorectl usage forget d4s6v8qk3m5t0b2n7c1f --reason "it is gone"`)
	// Neither has what was waived. The requests of globex in October were moved in November.
	for receiver, want := range map[string]string{
		"stripe":         "cus_N4a1,9009) (cus_Q2f8,-44100) (cus_Q2f9,95400) (cus_R4t7,295000",
		"stripe-overage": "cus_R4t7,10000",
	} {
		handOn := "petstorectl usage hand-on " + receiver + ".receiver"
		d.before(handOn)
		d.run(t, handOn)
		query := strings.Replace(documentedQuery(t, string(page)), "'stripe'\n", "'"+receiver+"'\n", 1)
		assert.Equal(t, textOf(t, d.url, query), "", "tenants without usage at", receiver)
		sums := regexp.MustCompile("(?s)```sql\n(select billing_ref.*?);\n```").FindStringSubmatch(string(page))
		if sums == nil {
			t.Fatal("docs/billing.md has no sums of a receiver")
		}
		query = strings.Replace(sums[1], "receiver = 'stripe'", "receiver = '"+receiver+"'", 1)
		assert.Equal(t, textOf(t, d.url, query), want, "sums of", receiver)
	}
	wantOverage(t, string(page), d.url)
}

// wantOverage computes the table of the section Overage, and compares it with what the month has.
func wantOverage(t *testing.T, page, url string) {
	t.Helper()
	rows := regexp.MustCompile(`(?m)^\| [a-z].* \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \| ([0-9,]+) \|$`).
		FindAllStringSubmatch(page, -1)
	var periods []usage.PeriodUse
	var documented []int64
	before := int64(0)
	for _, row := range rows {
		var n [4]int64
		for i := range n {
			var err error
			n[i], err = strconv.ParseInt(strings.ReplaceAll(row[i+1], ",", ""), 10, 64)
			assert.NoError(t, err)
		}
		assert.Equal(t, n[1], before, "requests before", row[0])
		before += n[2]
		periods = append(periods, usage.PeriodUse{
			Month: plans.Month{Kind: plans.SomeMonth, Included: n[0]}, Admitted: n[2],
		})
		documented = append(documented, n[3])
	}
	assert.DeepEqual(t, usage.Overages(periods), documented, "overage of the table")
	assert.Equal(t, textOf(t, url, `
		select string_agg(concat_ws(' ', q.per_month, u.admitted, u.overage), ', ' order by q.valid_from)
		from (select tenant_id, assignment, sum(admitted) as admitted, sum(overage) as overage from usage_counted
		      group by 1, 2) u
		join quota_periods q using (tenant_id, assignment) where q.per_month is not null`),
		"100000 104000 4000, 130000 36000 10000, 300000 155000 0", "periods of hooli")
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

// textOf returns the rows of a statement, "" for none.
func textOf(t *testing.T, url, statement string) (text string) {
	t.Helper()
	db, err := sql.Open("postgres", url)
	assert.NoError(t, err)
	defer db.Close()
	err = db.QueryRowContext(t.Context(), `select coalesce(string_agg(q::text, ' '), '') from (`+statement+`) q`).
		Scan(&text)
	assert.NoError(t, err)
	return strings.Trim(text, `()"`)
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
