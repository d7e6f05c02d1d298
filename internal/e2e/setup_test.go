package e2e_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/pgtest"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/webhooks"
)

// documentedPassword takes the place of … in the documents.
const documentedPassword = "Pa55word"

// administration runs the commands of docs/running.md and docs/roles.md on a cluster that has
// nothing yet. Only names of hosts and passwords are others.
type administration struct {
	t      testing.TB
	page   string // both pages
	server *pgtest.Server
	dir    string // where shell commands run
	// env is added to the environment of shell commands.
	env []string
	// hosts maps the host of the page to the address of a cluster.
	hosts map[string]string
}

func newAdministration(t testing.TB) *administration {
	t.Helper()
	a := &administration{
		t:     t,
		page:  programs.Read(t, "../../docs/running.md") + programs.Read(t, "../../docs/roles.md"),
		dir:   t.TempDir(),
		hosts: map[string]string{},
	}
	a.server = a.cluster("db")
	return a
}

// cluster starts an empty cluster, to which commands come by the host of that name.
func (a *administration) cluster(host string) *pgtest.Server {
	a.t.Helper()
	server := emptyCluster(a.t)
	_, query, _ := strings.Cut(server.URL("postgres", "postgres"), "?")
	a.hosts[host] = query
	return server
}

func emptyCluster(t testing.TB) *pgtest.Server {
	t.Helper()
	server, err := pgtest.Start(t.Context(), true, nil)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	return server
}

// block returns the block of code that contains the text.
func (a *administration) block(text string) string {
	a.t.Helper()
	for _, block := range regexp.MustCompile("(?s)```(?:sql|sh)\n(.*?)```").FindAllStringSubmatch(a.page, -1) {
		if strings.Contains(block[1], text) {
			return block[1]
		}
	}
	a.t.Fatalf("the pages have no block with %q", text)
	return ""
}

// sql runs statements as the administrator of a cluster.
func (a *administration) sql(server *pgtest.Server, statements string) {
	a.t.Helper()
	cmd := sandbox.Command(a.t, "psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", server.URL("postgres", "postgres"))
	cmd.Stdin = strings.NewReader(strings.ReplaceAll(statements, "…", documentedPassword))
	a.run(cmd, server)
}

// shell runs shell commands, and returns what they print.
func (a *administration) shell(commands string) string {
	a.t.Helper()
	commands = strings.ReplaceAll(commands, "…", documentedPassword)
	for host, query := range a.hosts {
		commands = regexp.MustCompile(`@`+host+`/(\w+)\?sslmode=verify-full`).ReplaceAllString(commands, `@/$1?`+query)
	}
	return a.run(sandbox.Command(a.t, "sh", "-ec", commands), a.server)
}

func (a *administration) run(cmd *exec.Cmd, server *pgtest.Server) string {
	a.t.Helper()
	cmd.Dir = a.dir
	// PostgreSQL's own programs are beside its server.
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", server.PID())); err == nil {
		path := filepath.Join(filepath.Dir(exe), filepath.Base(cmd.Path))
		if _, err := os.Stat(path); err == nil {
			cmd.Path, cmd.Err = path, nil
		}
		cmd.Env = append(
			cmd.Env,
			"PATH="+filepath.Dir(exe)+":"+filepath.Dir(program(a.t, "petstorectl"))+":"+os.Getenv("PATH"),
			"HOME="+a.dir,
		)
	}
	cmd.Env = append(cmd.Env, a.env...)
	out, err := cmd.CombinedOutput()
	assert.NoError(a.t, err, cmd.Args, out)
	return string(out)
}

// url returns the address of the documented database for a login.
func (a *administration) url(server *pgtest.Server, login string) string {
	return strings.Replace(server.URL(login, "petstore"), login+"@", login+":"+documentedPassword+"@", 1)
}

// TestDocumentedSetup follows docs/roles.md, and docs/running.md before it, word for word: roles,
// database, migrations, logins. Then a server and persons use what they need.
func TestDocumentedSetup(t *testing.T) {
	t.Parallel()
	d, a, _, _ := documentedSetup(t)
	bob := []string{"PETSTORE_DATABASE_URL=" + a.url(a.server, "bob")}
	c := runCtl(d, "", bob, "usage", "export")
	assert.Equal(t, c.code, 0, "bob exports usage: exit", c.stderr)
	// No server is live that decides what the key is for.
	c = runCtl(d, "", bob, "key", "issue", "acme", "--environment", "live")
	if c.code != 4 || !strings.Contains(a.page, c.stderr) {
		t.Errorf("bob issues a key: exit %d: %s", c.code, c.stderr)
	}
}

// TestDocumentedBackup: a backup of that database is restored on another cluster as docs/running.md
// says.
func TestDocumentedBackup(t *testing.T) {
	t.Parallel()
	d, a, customer, list := documentedSetup(t)
	checkDocumentedBackup(d, a, customer, list)
}

// documentedSetup returns what the documents set up, with a tenant and the list of its animals. The
// server has ended: the database changes no more.
func documentedSetup(t *testing.T) (*deployment, *administration, *tenant, response) {
	t.Helper()
	a := newAdministration(t)
	a.sql(a.server, a.block("create role petstore_billing nologin"))
	a.shell(a.block("petstorectl migrate up"))
	a.sql(a.server, a.block("grant connect on database petstore"))
	a.shell(a.block("export PETSTORE_PROFILE"))
	_, asAlice, _ := strings.Cut(a.block("make build"), "\n") // without the installation
	a.shell(asAlice)

	d := newDeploymentAs(
		t,
		a.url(a.server, "petstore_owner"),
		a.url(a.server, "api_server"),
		a.url(a.server, "alice"),
		"",
	)
	s := d.serve("PETSTORE_SECRETS_KEY=" + webhooks.NewKey())
	checkWorkingServer(d, s)
	customer := d.tenant(plans.Pro, nil, 2)
	for _, name := range []string{"Rex", "Tom"} {
		if r := d.patient.do(
			t.Context(),
			"POST",
			s.URL+"/pets",
			customer.keys[0].token,
			`{"name":"`+name+`","categoryId":1}`,
		); r.status != 201 {
			t.Fatalf("POST /pets: %v", r)
		}
	}
	list := d.patient.get(s, customer.keys[0].token, "/pets")
	s.Stop(syscall.SIGTERM)
	return d, a, customer, list
}

// TestDocumentedSetupWithCreateRole: an owner who may create roles needs none made before.
func TestDocumentedSetupWithCreateRole(t *testing.T) {
	t.Parallel()
	a := newAdministration(t)
	a.sql(a.server, a.block("petstore_owner login createrole"))
	a.shell(a.block("petstorectl migrate up"))
	a.sql(a.server, "create role api_server login in role petstore_api")
}

// TestMigrationNeedsTheDatabase: an owner to whom the database does not belong reads what to do.
func TestMigrationNeedsTheDatabase(t *testing.T) {
	t.Parallel()
	a := newAdministration(t)
	a.sql(a.server, strings.ReplaceAll(a.block("create role petstore_billing nologin"), " owner petstore_owner", ""))
	a.sql(a.server, "\\c petstore\ngrant create on schema public to petstore_owner")
	env := []string{"PETSTORE_DATABASE_URL=" + a.url(a.server, "petstore_owner")}
	c := runCtl(&deployment{t: t}, "", env, "migrate", "up")
	const want = "role petstore_owner does not own the database; an administrator must run: alter database petstore " +
		"owner to petstore_owner"
	if c.code == 0 || !strings.Contains(c.stderr, want) {
		t.Errorf("exit %d: %s", c.code, c.stderr)
	}
	a.sql(a.server, "alter database petstore owner to petstore_owner")
	a.shell(a.block("petstorectl migrate up"))
}

// content returns how many rows each table has and their hash, where each sequence stands, and the
// rights on everything.
func content(t testing.TB, server *pgtest.Server) map[string]string {
	t.Helper()
	db, err := sql.Open("postgres", server.URL("postgres", "petstore"))
	assert.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `
		select 'rows of ' || relname, (xpath('/row/n/text()', query_to_xml(
		         'select count(*) || '' '' ||
		           coalesce(md5(string_agg(t::text, chr(10) order by t::text collate "C")), '''') as n from '
		         || quote_ident(relname) || ' t', false, true, '')))[1]::text
		from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
		union all
		select 'sequence ' || sequencename, last_value::text from pg_sequences where schemaname = 'public'
		union all
		select 'rights on ' || relname, coalesce(relacl, acldefault('r', relowner))::text || coalesce((select
			string_agg(attname || attacl::text, ',') from pg_attribute where attrelid = c.oid and attacl is not null
				and not attisdropped), '')
		from pg_class c where relnamespace = 'public'::regnamespace and relkind = 'r'
		union all
		select 'rights on ' || proname, coalesce(proacl, acldefault('f', proowner))::text from pg_proc where
			pronamespace = 'public'::regnamespace
		union all
		select 'rights on the database', datacl::text from pg_database where datname = current_database()
		union all
		select 'rights on the schema', nspacl::text from pg_namespace where nspname = 'public'
		union all
		select 'default rights on ' || defaclobjtype::text, defaclacl::text from pg_default_acl`)
	assert.NoError(t, err)
	defer rows.Close()
	found := map[string]string{}
	for rows.Next() {
		var name string
		var value sql.NullString
		assert.NoError(t, rows.Scan(&name, &value))
		rights := strings.FieldsFunc(value.String, func(r rune) bool { return strings.ContainsRune("{},", r) })
		slices.Sort(rights) // The order of grants is no matter.
		found[name] = strings.Join(rights, " ")
	}
	assert.NoError(t, rows.Err())
	return found
}

// checkWorkingServer checks that the server has all permissions that it needs in the database.
func checkWorkingServer(d *deployment, s *server) {
	t := d.t
	n := addPopulated(d, s, 1) // animals, an order, and idempotency keys
	token := n.keys[0].token
	for _, path := range []string{"/pets/1", "/pets?status=sold", "/store/orders", "/usage"} {
		a := d.patient.get(s, token, path)
		assert.Equal(t, a.status, 200, "GET", path, a)
	}
	for path, body := range map[string]string{"/pets/2": `{"status":"pending"}`,
		"/store/orders/1": `{"status":"approved"}`} {
		a := d.patient.do(t.Context(), "PATCH", s.URL+path, token, body)
		assert.Equal(t, a.status, 200, "PATCH", path, a)
	}
	flooding := d.freshTenant(plans.Free, nil, 1)
	d.expect(s, flooding.keys[0].token, int(flooding.Quota.PerMinute), "200")
	d.expect(s, flooding.keys[0].token, 1001, "429 rate_limit_exceeded")
	for what, query := range map[string]string{
		"usage":         `select count(*) from usage_hourly`,
		"last used":     `select count(*) from api_keys where last_used_at is not null`,
		"failed":        `select count(*) from failed_requests`,
		"automatic ban": `select count(*) from bans`,
		"a term":        `select count(*) from cluster_term where active`,
		"renewals":      `select count(*) from servers where seen_at > now() - interval '2 s'`,
	} {
		wait.Until(t, what+" in the database", func() bool { return d.number(query) > 0 })
	}
	d.ctl("tenant", "suspend", n.Name, "--yes", "--reason", "test")
	wait.Until(t, "the change takes effect", func() bool { return d.client.get(s, token, "/pets").status == 401 })
	wait.Until(t, "a server that is ready", s.isReady)
}
