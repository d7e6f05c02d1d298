package ctl

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage/closing"
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
		if err := pinAudit(t.Context(), d.url, "2026-11-02 09:00Z", "bob"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(command, "2026-11 --tenant acme") {
			// The server is back, with what it had not recorded.
			execSQL(t, d.url, `select add_usage('d4s6v8qk3m5t0b2n7c1g', 2, 0, '{1}', '{1793487600}', '{key_0000000000000001}', '{3}', '{1}', '{9}', '{0}', '{0}', '{0}', '{0}', '{}', '{}')`)
		}
	}
	d.file(t, "../../docs/billing.md", "## The month closes")
}

// TestDocumentedProof runs the Python program of docs/billing.md on proofs: it accepts those that usage proof prints, and no altered ones.
func TestDocumentedProof(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/billing.md")
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```python\n(import hashlib.*?)```").FindSubmatch(page)
	if program == nil {
		t.Fatal("docs/billing.md has no program")
	}
	d := docRun{url: storetest.New(t).URL}
	// Five tenants make a tree that is not perfect. The third has two lines, and one that takes one of them back.
	execSQL(t, d.url, `insert into tenants (name, created_at) select 'tenant-' || n, '2026-09-01Z' from generate_series(1, 5) n`)
	execSQL(t, d.url, `insert into tenant_plans (tenant_id, valid_from, plan) select n, '2026-09-01Z', 'pro' from generate_series(1, 5) n`)
	execSQL(t, d.url, `insert into tenant_plans (tenant_id, valid_from, plan) values (3, '2026-10-07 01:02:03.004Z', 'business')`)
	execSQL(t, d.url, `update tenant_plans set voided_at = now(), void_reason = 'wrong' where id = 3`)
	execSQL(t, d.url, `insert into api_keys (id, tenant_id, environment, digest, last4, created_at) values ('key_0000000000000001', 3, 'live', sha256(''), '0001', now())`)
	execSQL(t, d.url, `insert into usage_hourly (tenant_id, hour, key_id, assignment, version, admitted, refused)
		values (3, '2026-10-02Z', 'key_0000000000000001', 3, 1, 100, 0), (3, '2026-10-08Z', 'key_0000000000000001', 6, 1, 23, 5)`)
	var month struct{ Root string }
	_, closed, _ := strings.Cut(d.run(t, "petstorectl usage close --month 2026-10 -o json"), "{")
	if err := json.Unmarshal([]byte("{"+closed), &month); err != nil {
		t.Fatal(err)
	}
	check := func(root, proof string) string {
		cmd := sandbox.Command(t, "python3", "-c", string(program[1]), root)
		cmd.Stdin = strings.NewReader(proof)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			t.Fatalf("%v: install it with tools/install.sh python3, as make test does", err)
		}
		return strings.TrimSpace(string(out))
	}
	for tenant, want := range map[string]string{
		"tenant-1": "2026-10: 1 lines, 0 requests to pay for", "tenant-3": "2026-10: 3 lines, 23 requests to pay for", "tenant-5": "2026-10: 1 lines, 0 requests to pay for",
	} {
		if got := check(month.Root, d.run(t, "petstorectl usage proof "+tenant+" --month 2026-10 -o json")); got != want {
			t.Errorf("%s: %q, want %q", tenant, got, want)
		}
	}
	proof := d.run(t, "petstorectl usage proof tenant-3 --month 2026-10 -o json")
	less := regexp.MustCompile(`(?s)("lines": \[\n)    \{.*?\n    \},\n`).ReplaceAllString(proof, "$1")
	less = regexp.MustCompile(`(?s)("sha256": \[\n)[^\n]*\n`).ReplaceAllString(less, "$1")
	for name, altered := range map[string][3]string{
		"another count":  {month.Root, strings.Replace(proof, `"admitted": 23`, `"admitted": 22`, 1), "a line does not have its hash"},
		"a line less":    {month.Root, less, "the lines are not in the month with this root"},
		"another root":   {closing.Sum("").String(), proof, "the lines are not in the month with this root"},
		"another index":  {month.Root, strings.Replace(proof, `"index": 2`, `"index": 3`, 1), "the lines are not in the month with this root"},
		"fewer tenants":  {month.Root, strings.Replace(proof, `"tenants": 5`, `"tenants": 3`, 1), "the lines are not in the month with this root"},
		"another tenant": {month.Root, d.run(t, "petstorectl usage proof tenant-1 --month 2026-10 -o json"), "2026-10: 1 lines, 0 requests to pay for"},
	} {
		if altered[1] == proof && name != "another root" {
			t.Errorf("%s: the proof is the same", name)
		}
		if got := check(altered[0], altered[1]); got != altered[2] {
			t.Errorf("%s: %q, want %q", name, got, altered[2])
		}
	}
}

func execSQL(t *testing.T, url, statement string) {
	t.Helper()
	db, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
