package e2e_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/pgtest"
	"petstore.example/internal/test/programs"
)

// checkDocumentedBackup follows docs/running.md word for word: it dumps the database of d, in which
// nothing is written any more, and restores it on another cluster. list is what the tenant had.
func checkDocumentedBackup(d *deployment, a *administration, customer *tenant, list response) {
	t := d.t
	a.sql(a.server, "revoke connect on database postgres, template1 from public") // as pg_hba.conf of the page
	a.shell(a.block(">> checkpoints"))
	a.shell("mkdir 2020-01-01 && touch -t 202001010000 2020-01-01")
	a.env = []string{"PETSTORE_DATABASE_URL=" + a.url(a.server, "backup_job")}
	a.shell(programs.Read(t, "../../deploy/backup/petstore-dump"))
	a.env = nil
	dumped := time.Now().UTC().Format(time.RFC3339Nano)
	if out := a.shell(
		"grep -c tenant.create 20*/audit.jsonl && ls -l 20*/petstore.dump && mv 20*/* . && ls -d 20*",
	); strings.Contains(out, "2020") ||
		!strings.Contains(out, "-rw------- ") {
		t.Errorf("dumps: %s", out)
	}
	before := content(t, a.server)
	if strings.HasPrefix(before["rows of pets"], "0 ") || strings.HasPrefix(before["rows of audit_entries"], "0 ") {
		t.Fatalf("nothing to restore: %v", before)
	}
	checkWrongDump(t, a)
	d.ctl("key", "revoke", customer.keys[1].id, "--yes", "--reason", "test") // after the dump
	a.shell(a.block("audit-at-the-end"))
	a.shell(a.block(">> checkpoints"))

	restored := a.cluster("db2")
	out := a.shell(a.block("psql --quiet --file=roles.sql"))
	assert.Equal(t, strings.Count(out, "ERROR"), 1, "the roles", out)
	assert.DeepEqual(t, content(t, restored), before, "restored -before +after")
	a.sql(restored, a.block("alter role petstore_owner password"))
	if out := a.shell(a.block("petstore_admin@db2")); !strings.Contains(out, "petstorectl login") {
		t.Errorf("logged in to the restored database: %s", out)
	}
	a.sql(restored, a.block("setval"))

	there := newDeploymentAs(
		t,
		a.url(restored, "petstore_owner"),
		a.url(restored, "api_server"),
		a.url(restored, "alice"),
		"",
	)
	if out := a.shell(
		strings.ReplaceAll(a.block("petstorectl migrate status"), "2026-11-20T14:03:27Z", dumped),
	); !regexp.MustCompile(`catalogue\s+ok`).MatchString(out) ||
		!strings.Contains(out, "intact") {
		t.Errorf("the restored database: %s", out)
	}
	a.shell(a.block("sort -u revoked-keys"))
	s := there.serve()
	if r := there.patient.get(
		s,
		customer.keys[0].token,
		"/pets",
	); r.status != 200 ||
		string(r.body) != string(list.body) {
		t.Errorf("GET /pets: %v, want %s", r, list.body)
	}
	if r := there.patient.get(s, customer.keys[1].token, "/pets"); r.status != 401 {
		t.Errorf("a key that was revoked after the dump: %v", r)
	}
	r := there.patient.do(t.Context(), "POST", s.URL+"/pets", customer.keys[0].token, `{"name":"Ada","categoryId":1}`)
	var pet struct{ ID int64 }
	if err := json.Unmarshal(r.body, &pet); err != nil || pet.ID < 1_000_000 {
		t.Errorf("a new animal: %v", r)
	}
	checkErasure(there, s, customer, a.url(restored, "backup_job"))
	checkHollowDatabase(t, a, restored)
}

// checkErasure: the login of the backup exports a tenant, the owner erases it, and the server
// refuses its keys.
func checkErasure(d *deployment, s *server, n *tenant, backupURL string) {
	t := d.t
	c := runCtl(d, "", []string{"PETSTORE_DATABASE_URL=" + backupURL}, "tenant", "export", n.Name)
	if c.code != 0 || !strings.Contains(c.stdout, `"name":"Rex"`) || strings.Contains(c.stdout, n.keys[0].token) {
		t.Errorf("an export as the login of the backup: exit %d, %s", c.code, c.stderr)
	}
	d.ctl("tenant", "suspend", n.Name, "--yes")
	c = runCtl(d, "", []string{"PETSTORE_DATABASE_URL=" + d.databaseURL}, "tenant", "erase", n.Name, "--yes")
	if c.code != 0 || !strings.Contains(c.stdout, `"pets": 3`) {
		t.Errorf("an erasure: exit %d, %s%s", c.code, c.stdout, c.stderr)
	}
	r := d.patient.get(s, n.keys[0].token, "/pets")
	assert.Equal(t, r.status, 401, "a key of a tenant that was erased", r)
}

// checkWrongDump: the owner's dump fails, and the one that docs/running.md warns of ends without an
// error.
func checkWrongDump(t testing.TB, a *administration) {
	t.Helper()
	owner := " --format=custom --file=hollow.dump '" + a.url(a.server, "petstore_owner") + "'"
	if out := a.shell("pg_dump" + owner + " 2>&1 && exit 1 || true"); !strings.Contains(out, "row-level security") {
		t.Errorf("a dump as the owner: %s", out)
	}
	a.shell("pg_dump --enable-row-security" + owner)
}

// checkHollowDatabase: doctor warns of what comes of the wrong dump.
func checkHollowDatabase(t testing.TB, a *administration, server *pgtest.Server) {
	t.Helper()
	a.sql(server, "create database hollow owner petstore_owner")
	a.shell("pg_restore --exit-on-error --dbname='" + server.URL("postgres", "hollow") + "' hollow.dump")
	a.env = []string{"PETSTORE_DATABASE_URL=" + strings.Replace(a.url(server, "alice"), "/petstore?", "/hollow?", 1)}
	out := a.shell("petstorectl doctor --columns check,status,advice")
	if !regexp.MustCompile(`catalogue\s+warn`).MatchString(out) ||
		!strings.Contains(out, "running.md#backup-and-restore") {
		t.Errorf("a database without its animals: %s", out)
	}
}
