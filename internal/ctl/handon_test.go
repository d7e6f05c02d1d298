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

// TestHandingOn runs the script and the query of docs/billing.md for each receiver, over a network
// that fails.
func TestHandingOn(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/billing.md")
	assert.NoError(t, err)
	loop := regexp.MustCompile("(?s)```sh\n(#!/bin/bash\n# hand-on.sh.*?)```").FindSubmatch(page)
	query := regexp.MustCompile("(?s)```sql\n(select t.name as tenant, sum.*?)```").FindSubmatch(page)
	if loop == nil || query == nil {
		t.Fatal("docs/billing.md has no script or no query")
	}
	receivers := map[string]*receiver{
		"stripe":      stripeReceiver(t),
		"lago":        lagoReceiver(t),
		"openmeter":   openMeterReceiver(t),
		"cloudevents": cloudEventsReceiver(t),
	}
	urls := map[string]string{}
	for name, r := range receivers {
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
			e.Setenv("BILLING_URL", database.BillingURL)
			e.Setenv("PETSTORE_DATABASE_URL", database.BillingURL)
			e.Setenv("PETSTORE_ACTOR", "jo@billing")
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			if err := os.WriteFile(filepath.Join(e.WorkDir, "hand-on.sh"), loop[1], 0o600); err != nil {
				return err
			}
			// The month of the document is that of the usage.
			month := regexp.MustCompile(
				`'2026-1[12]-01Z'`,
			).ReplaceAllStringFunc(
				string(query[1]),
				func(month string) string {
					return map[string]string{"'2026-11-01Z'": "now() - interval '30 days'",
						"'2026-12-01Z'": "now()"}[month]
				},
			)
			e.Setenv(
				"RECONCILE",
				"select concat_ws(' ', tenant, recorded, sent, missing) from ("+strings.ReplaceAll(
					month,
					";",
					"",
				)+") q",
			)
			if err := seedHandOn(database.URL); err != nil {
				return err
			}
			return writeCurlFiles(e.WorkDir, string(page), urls)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// fail RECEIVER before|after N: the next N requests fail before or after their events
			// were taken.
			"fail": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.Atoi(args[2])
				ts.Check(err)
				r := receivers[args[0]]
				r.mu.Lock()
				defer r.mu.Unlock()
				if args[1] == "before" {
					r.down = n
				} else {
					r.forgetful = n
				}
			},
			// received RECEIVER: what it has counted by customer, and in how many requests.
			"received": func(ts *testscript.TestScript, neg bool, args []string) {
				r := receivers[args[0]]
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

// writeCurlFiles writes the files that the document's table has for each receiver, with the
// addresses of their stand-ins.
func writeCurlFiles(dir, page string, urls map[string]string) error {
	rows := regexp.MustCompile(
		"(?m)^\\| (Stripe|OpenMeter|Lago|CloudEvents) \\| (`url = .*) \\|$",
	).FindAllStringSubmatch(
		page,
		-1,
	)
	if len(rows) != len(urls) {
		return fmt.Errorf("docs/billing.md has the files of %d receivers", len(rows))
	}
	for _, row := range rows {
		name := strings.ToLower(row[1])
		lines := strings.NewReplacer("`, `", "\n", "`", "").Replace(row[2])
		lines = regexp.MustCompile(`https://[^/"]+`).ReplaceAllString(lines, urls[name])
		if err := os.WriteFile(
			filepath.Join(dir, name+".curl"),
			[]byte(strings.ReplaceAll(lines, "…", "123")+"\n"),
			0o600,
		); err != nil {
			return err
		}
	}
	return nil
}

// seedHandOn records usage of the last 60 hours: of acme and zoo, and of shy, which has no billing
// reference.
func seedHandOn(url string) error {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return err
	}
	_, err = db.Exec(`
		select test_tenant(name, 'pro') from unnest('{acme,zoo,shy}'::text[]) name;
		update tenants set billing_ref = 'cus_' || name where name <> 'shy';
		insert into api_keys (id, tenant_id, environment, digest, last4, created_at)
		select 'key_000000000000000' || id, id, 'live', sha256(name::bytea), '0001', now() from tenants;
		select test_usage(id, date_trunc('hour', now()) - n * interval '1 hour', 'key_000000000000000' || id, 'pro',
			(array[10, 3, 1])[id], 0)
		from tenants, generate_series(1, 60) n`)
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
