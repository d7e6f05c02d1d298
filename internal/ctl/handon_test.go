//go:build !scripts

package ctl

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// TestHandingOn hands on with the files and the query of docs/billing.md for each receiver, which
// fails in all ways.
func TestHandingOn(t *testing.T) {
	t.Parallel()
	page := billingPage(t)
	all := map[string]*receiver{
		"stripe":      stripeReceiver(startStripeMock(t)),
		"lago":        lagoReceiver(t),
		"openmeter":   openMeterReceiver(t),
		"cloudevents": cloudEventsReceiver(),
	}
	urls := map[string]string{}
	for name, r := range all {
		urls[name] = r.start(t)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/handon",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			t, ok := e.T().(testing.TB)
			if !ok {
				return fmt.Errorf("%T is no test", e.T())
			}
			database := storetest.New(t)
			e.Setenv("OWNER_URL", database.URL)
			e.Setenv("BILLING_URL", database.BillingURL)
			e.Setenv("PETSTORE_DATABASE_URL", database.BillingURL)
			e.Setenv("PETSTORE_ACTOR", "jo@billing")
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("RECONCILE", reconcileQuery(t, page, "stripe"))
			if err := seedHandOn(database.URL, 60); err != nil {
				return err
			}
			return writeReceivers(e.WorkDir, page, urls)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// fail RECEIVER before|after|hangs|status|refuses|forget [VALUE]: what it does from now on.
			"fail": func(ts *testscript.TestScript, _ bool, args []string) {
				r := all[args[0]]
				if args[1] == "forget" {
					r.forget()
					return
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				if args[1] == "refuses" {
					r.refused = args[2]
					return
				}
				n, err := strconv.Atoi(args[2])
				ts.Check(err)
				how := map[string]*int{"before": &r.down, "after": &r.forgetful, "hangs": &r.hangs, "status": &r.status}
				*how[args[1]] = n
			},
			// received RECEIVER: what it has counted by customer, and in how many requests.
			"received": func(ts *testscript.TestScript, neg bool, args []string) {
				r := all[args[0]]
				r.mu.Lock()
				defer r.mu.Unlock()
				var got []string
				for _, customer := range slices.Sorted(maps.Keys(r.sums)) {
					got = append(got, fmt.Sprintf("%s=%d", customer, r.sums[customer]))
				}
				got = append(got, fmt.Sprintf("requests=%d", r.lines))
				if text := strings.Join(got, " "); neg || text != strings.Join(args[1:], " ") {
					ts.Fatalf("%s received %s, want %s", args[0], text, strings.Join(args[1:], " "))
				}
			},
		},
	})
}

func billingPage(t testing.TB) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/billing.md")
	assert.NoError(t, err)
	return string(page)
}

// reconcileQuery is the query of the document for the last 30 days and a receiver. It returns a text
// for each row.
func reconcileQuery(t testing.TB, page, receiver string) string {
	t.Helper()
	// The month of the document is that of the usage.
	text := strings.NewReplacer(
		"timestamptz '2026-11-01Z'",
		"now() - interval '30 days'",
		"timestamptz '2026-12-01Z'",
		"now()",
		"'stripe'",
		"'"+receiver+"'",
	).Replace(documentedQuery(t, page))
	return "select q::text from (" + text + ") q"
}

func documentedQuery(t testing.TB, page string) string {
	t.Helper()
	query := regexp.MustCompile("(?s)### Reconciling.*?```sql\n(.*?);\n```").FindStringSubmatch(page)
	if query == nil {
		t.Fatal("docs/billing.md has no query")
	}
	return query[1]
}

// TestReconcileWaivers: late usage of an hour that was given up is named, because a waiver goes by the
// hour in which usage counts, and so is what was sent too much.
func TestReconcileWaivers(t *testing.T) {
	t.Parallel()
	url := storetest.New(t).URL
	assert.NoError(t, seedHandOn(url, 5))
	execSQL(t, url, `
		insert into receivers (name, format, begins) values ('stripe', 'stripe', now() - interval '20 days');
		insert into usage_waivers (tenant_id, receiver, until)
		select id, 'stripe', date_trunc('hour', now()) - case name when 'shy' then 2 else 0 end * interval '1 hour'
		from tenants;
		insert into sent_events (receiver, format, hour, counted_at, tenant_id, assignment, correction, version,
			event_id, billing_ref, admitted, refused)
		select 'stripe', 'stripe', hour, hour, tenant_id, assignment, 0, 1, gen_random_uuid(), 'cus_acme', n, 0
		from usage_hourly join (values (5, 6), (4, 12)) v (ago, n)
			on hour = date_trunc('hour', now()) - ago * interval '1 hour'
		where tenant_id = 1;
		insert into usage_late (month, tenant_id, hour, key_id, assignment, version, admitted, refused, server_id,
			arrived_at)
		select date_trunc('month', now() - interval '1 hour'), tenant_id, hour, key_id, assignment, version, 4, 0, 's',
			now() - interval '1 hour'
		from usage_hourly where tenant_id = 3 order by hour limit 1`)
	db, err := sql.Open("postgres", url)
	assert.NoError(t, err)
	defer func() { _ = db.Close() }()
	var got string
	err = db.QueryRow(
		`select string_agg(q::text, ' ') from (` + reconcileQuery(t, billingPage(t), "stripe") + `) q (q)`,
	).
		Scan(
			&got,
		)
	assert.Result(t, got, err, "(acme,cus_acme,16,18,-2) (shy,,6,0,6)", "tenants")
}

// secret is in the files of all receivers.
const secret = "sk_live_never_shown"

// writeReceivers writes the files that the document's table has for each receiver, with the
// addresses of their stand-ins.
func writeReceivers(dir, page string, urls map[string]string) error {
	rows := regexp.MustCompile(
		"(?m)^\\| (Stripe|OpenMeter|Lago|CloudEvents) \\| (`FORMAT=.*_FILE=(.*)`) \\| `(.*)` \\|$",
	).FindAllStringSubmatch(page, -1)
	if len(rows) != 4 {
		return fmt.Errorf("docs/billing.md has the files of %d receivers", len(rows))
	}
	for _, row := range rows {
		name := strings.ToLower(row[1])
		lines := strings.NewReplacer("`, `", "\n", "`", "").Replace(row[2])
		lines = regexp.MustCompile(`https://[^/\n]+`).ReplaceAllString(lines, urls[name])
		key := strings.NewReplacer("sk_live_…", secret, "…", secret).Replace(row[4])
		if err := errors.Join(
			os.WriteFile(filepath.Join(dir, name+".receiver"), []byte(lines+"\n"), 0o600),
			os.WriteFile(filepath.Join(dir, row[3]), []byte(key+"\n"), 0o600),
		); err != nil {
			return err
		}
	}
	return nil
}

// seedHandOn records usage of the last hours: of acme and zoo, and of shy, which has no billing
// reference.
func seedHandOn(url string, hours int) error {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return err
	}
	_, err = db.Exec(fmt.Sprintf(`
		select test_tenant(name, 'pro') from unnest('{acme,zoo,shy}'::text[]) name;
		update tenants set billing_ref = 'cus_' || name where name <> 'shy';
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_000000000000000' || id, id, 'live', sha256(name::bytea), '0001', now() from tenants;
		select test_usage(id, date_trunc('hour', now()) - n * interval '1 hour', 'key_000000000000000' || id, 'pro',
			(array[10, 3, 1])[id], 0)
		from tenants, generate_series(1, %d) n`, hours))
	return errors.Join(err, db.Close())
}

// TestStripeMock: the check of meter events can fail.
func TestStripeMock(t *testing.T) {
	t.Parallel()
	mock := startStripeMock(t)
	const event = "event_name=petstore_requests&identifier=1&payload%5Bstripe_customer_id%5D=cus_1" +
		"&payload%5Bvalue%5D=-25&timestamp=1795165200"
	assert.Equal(t, postToMock(mock, []byte(event)), nil)
	for _, broken := range []string{
		strings.Replace(event, "event_name", "name", 1), strings.Replace(event, "timestamp=", "timestamp=x", 1),
		strings.Replace(event, "payload", "load", 2),
	} {
		err := postToMock(mock, []byte(broken))
		assert.True(t, err != nil, "accepted", broken)
	}
}
