package e2e_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/store/migrate"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

// situation is what a database or a login is when the programs start.
type situation struct {
	// setup changes a database of the test's own, as its owner. A %s is the login.
	setup string
	// login is the attributes of the login to make, "" to connect as the owner.
	login string
	// env is added to the server's environment.
	env []string
	// fails is the end of the line with which serve fails. If it is empty, serve serves.
	fails string
	// check is the check with the status warn, "" for none, and warns the end of its sentence.
	check, warns string
	// doctor is the exit code of petstorectl doctor by the login, and doctorLine the beginning of a
	// line of it.
	doctor     int
	doctorLine string
	// migrate is the exit code of petstorectl migrate up by the owner, and migrateLine the end of
	// the line of an error.
	migrate     int
	migrateLine string
}

// TestStartup: what serve and doctor say in each situation. docs/configuration.md has the table.
func TestStartup(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]situation{
		"login in `petstore_api` alone": {
			login: "in role petstore_api", doctor: 1, doctorLine: "role	fail	role %s is a member of neither " +
				"petstore_support nor petstore_billing, but of petstore_api, the role of servers",
		},
		"login owns the tables": {
			login: "in role petstore_api", setup: `alter table plans owner to %s`,
			fails:      `login "%s" owns the tables: ` + tooMuch + orAllow,
			doctorLine: "role	ok	role %s owns the tables, so it may run all commands",
		},
		"login is a member of the owner": {
			login:      "in role petstore_api",
			setup:      `create role %[1]s_owner role %[1]s; alter table plans owner to %[1]s_owner`,
			fails:      `login "%s" owns the tables: ` + tooMuch + orAllow,
			doctorLine: "role	ok	role %s owns the tables",
		},
		"login is a superuser": {
			login: "superuser", fails: `login "%s" is a superuser: ` + tooMuch + orAllow,
			doctorLine: "role	warn	role %s is a superuser",
		},
		"the same with `PETSTORE_ALLOW_OWNER=yes`": {
			login: "superuser", env: []string{"PETSTORE_ALLOW_OWNER=yes"}, check: "login",
			warns:      `login "%s" is a superuser: ` + tooMuch,
			doctorLine: "role	warn	role %s is a superuser",
		},
		"login has BYPASSRLS": {
			login: "bypassrls in role petstore_api", check: "login",
			warns:  `login "%s" bypasses row-level security: ` + tooMuch,
			doctor: 1, doctorLine: "role	fail	role %s is a member of neither",
		},
		"login is not in `petstore_api`": {
			login: "nosuperuser", fails: `login "%[1]s" is not a member of petstore_api; an administrator must run ` +
				`in SQL: grant petstore_api to "%[1]s"`,
			doctor: 1, doctorLine: "role	fail	role %s is a member of neither petstore_support nor " +
				"petstore_billing",
		},
		"login may not connect": {
			login: "nosuperuser", setup: `do $$ begin execute format('revoke connect on database %I from public', ` +
				`current_database()); end $$`,
			fails: `login "%[1]s" is not a member of petstore_api; an administrator must run in SQL: ` +
				`grant petstore_api to "%[1]s"`,
			doctor: 1, doctorLine: "role	fail	role %s is a member of neither petstore_support nor " +
				"petstore_billing",
		},
		"rights are missing": {
			login: "in role petstore_api", setup: `revoke execute on function callers_of_keys from petstore_api`,
			fails: "petstore_api lacks rights that the migrations gave it; restore the database with its rights, " +
				"see docs/roles.md",
			doctor: 1, doctorLine: "role	fail	role %s is a member of neither",
		},
		"schema newer than the server": {
			login: "in role petstore_api", setup: `update schema_migrations set version = 9999`, check: "schema",
			warns:  "; use the release that migrated it, or a later one",
			doctor: 1, doctorLine: "schema	fail	version 9999 is newer than this petstorectl",
			migrate: 5, migrateLine: "; use the release that migrated it, or a later one",
		},
		"database never migrated": {
			login: "in role petstore_api", setup: `alter table schema_migrations rename to other`,
			fails:  `was never migrated; run: petstorectl migrate up`,
			doctor: 1, doctorLine: "schema	fail	the database was never migrated	run: petstorectl migrate up",
			migrate: 5, migrateLine: "already exists (42P07)", // in truth there would be no tables
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch {
			case s.fails != "":
				checkDocumented(t, name, "fails", s.fails)
			case s.check != "":
				checkDocumented(t, name, "warns", s.warns)
			default:
				checkDocumented(t, name, "starts", "")
			}
			s.run(t, storetest.New(t).URL)
		})
	}
}

const tooMuch = "a server needs a login in petstore_api alone; see docs/roles.md"

const orAllow = ", or set PETSTORE_ALLOW_OWNER=yes"

func (s situation) run(t *testing.T, ownerURL string) {
	t.Helper()
	u, err := url.Parse(ownerURL)
	assert.NoError(t, err)
	login := "login_of_" + strings.TrimPrefix(u.Path, "/")
	execute(t, ownerURL, "create role "+login+" login "+s.login)
	t.Cleanup(func() { dropLogin(t, ownerURL, login) })
	if s.setup != "" {
		execute(t, ownerURL, strings.NewReplacer("%s", login, "%[1]s", login).Replace(s.setup))
	}
	u.User = url.User(login)
	text := strings.NewReplacer("%s", login, "%[1]s", login)
	s.checkServe(t, u.String(), text)
	c := runCtl(&deployment{t: t}, "", []string{"PETSTORE_DATABASE_URL=" + u.String()}, "doctor")
	if want := text.Replace(s.doctorLine); c.code != s.doctor || !strings.Contains("\n"+c.stdout, "\n"+want) {
		t.Errorf("doctor: exit %d, want %d with %q: %s%s", c.code, s.doctor, want, c.stdout, c.stderr)
	}
	c = runCtl(&deployment{t: t}, "", []string{"PETSTORE_DATABASE_URL=" + ownerURL}, "migrate", "up")
	if c.code != s.migrate || s.migrateLine != "" && !strings.HasSuffix(c.stderr, s.migrateLine+"\n") {
		t.Errorf("migrate up: exit %d, want %d with %q: %s", c.code, s.migrate, s.migrateLine, c.stderr)
	}
}

// checkServe checks that serve fails with the line, or that it serves and warns in its log and in
// /readyz?verbose.
func (s situation) checkServe(t *testing.T, databaseURL string, text *strings.Replacer) {
	t.Helper()
	d := &deployment{t: t, serverURL: databaseURL}
	process := programs.Start(t, sandbox.Command(t, program(t, "petstore"), "serve"), append(d.env(), s.env...)...)
	if s.fails != "" {
		process.FailsWith(text.Replace(s.fails))
		assert.Equal(t, process.Wait(), 1, "exit")
		return
	}
	p := programs.ServerOf(process)
	p.AwaitReady()
	var verbose struct {
		Status string
		Checks map[string]struct{ Status, Message string }
	}
	status, body := p.Ask("/readyz?verbose")
	if err := json.Unmarshal(body, &verbose); err != nil || status != 200 || verbose.Status != "ready" {
		t.Errorf("/readyz?verbose: %d, %v: %s", status, err, body)
	}
	want := []string{"change_feed", "clock", "database", "login", "months", "redis", "schema", "secrets", "term"}
	assert.DeepEqual(t, slices.Sorted(maps.Keys(verbose.Checks)), want, "/readyz?verbose")
	for check, got := range verbose.Checks {
		if check != s.check && (got.Status != "ok" || got.Message != "") {
			t.Errorf("%s: %+v, want ok", check, got)
		}
	}
	warnings := p.Logged(`"level":"warn"`, `"check":`)
	if s.check == "" {
		assert.Equal(t, warnings, 0, "warnings in the log")
		return
	}
	got, warns := verbose.Checks[s.check], text.Replace(s.warns)
	quoted, err := json.Marshal(got.Message)
	assert.NoError(t, err)
	if got.Status != "warn" || !strings.HasSuffix(got.Message, warns) || warnings != 1 ||
		p.Logged(`"level":"warn"`, string(quoted)) != 1 {
		t.Errorf("%s: %+v and %d warnings in the log, want one: %q", s.check, got, warnings, warns)
	}
	// A server of the same login is seen by doctor.
	if s.check == "login" {
		c := runCtl(d, "", []string{"PETSTORE_DATABASE_URL=" + databaseURL}, "doctor")
		if !strings.Contains(
			c.stdout,
			"logins	warn	1 login of servers with too many rights: "+text.Replace("%s "),
		) {
			t.Errorf("doctor says nothing of the server's login: %s", c.stdout)
		}
	}
}

// checkDocumented checks that docs/configuration.md says what serve does in the situation, with the
// end of the line.
func checkDocumented(t *testing.T, situation, outcome, line string) {
	t.Helper()
	for row := range strings.Lines(programs.Read(t, "../../docs/configuration.md")) {
		if text, ok := strings.CutPrefix(row, "| "+situation+" | "+outcome+" | "); ok {
			line = strings.NewReplacer("%s", "…", "%[1]s", "…").Replace(line)
			if !strings.Contains(text, line) && !strings.Contains(text, "the same") {
				t.Errorf("docs/configuration.md: %q has the line %q, want %q", situation, text, line)
			}
			return
		}
	}
	t.Errorf("docs/configuration.md has no row of %q that %s", situation, outcome)
}

// TestStartupOnAFreshCluster: the role petstore_api does not exist before the first migration.
func TestStartupOnAFreshCluster(t *testing.T) {
	t.Parallel()
	postgres := emptyCluster(t)
	owner := postgres.URL("postgres", "postgres")
	d := &deployment{t: t, serverURL: owner}
	p := programs.Start(t, sandbox.Command(t, program(t, "petstore"), "serve"), d.env()...)
	p.FailsWith(
		`petstore: PETSTORE_DATABASE_URL: the database "postgres" was never migrated; run: petstorectl migrate up`,
	)

	execute(t, owner, "create role jo login")
	jo := postgres.URL("jo", "postgres")
	for _, step := range []struct {
		url, command string
		code         int
		says         string
	}{
		{owner, "tenant list", 5, "the database lacks migrations of this release; run: petstorectl migrate up\n"},
		{owner, "doctor", 1, "petstorectl: check failed: schema\n"},
		{jo, "migrate up", 4, "petstorectl: your login jo may not apply all pending migrations: ask somebody who " +
			"connects as the owner of the tables\n"},
		{owner, "migrate up", 0, ""},
		{jo, "migrate up", 4, "petstorectl: your login jo may not apply all pending migrations: ask somebody who " +
			"connects as the owner of the tables\n"},
		{jo, "doctor", 1, "petstorectl: check failed: role\n"},
	} {
		c := runCtl(d, "", []string{"PETSTORE_DATABASE_URL=" + step.url}, strings.Fields(step.command)...)
		if c.code != step.code || !strings.HasSuffix(c.stderr, step.says) {
			t.Errorf("%s: exit %d, want %d: %s%s", step.command, c.code, step.code, c.stderr, c.stdout)
		}
	}
	execute(t, owner, "create role api_server login in role petstore_api")
	d.serverURL = postgres.URL("api_server", "postgres")
	programs.Serve(t, program(t, "petstore"), d.env()...)
}

// TestStartupBehind: a server of a later release than the schema does not start.
func TestStartupBehind(t *testing.T) {
	t.Parallel()
	database := storetest.NewServer(t) // to migrate down needs the only database with the roles
	assert.NoError(t, migrate.Down(t.Context(), database.URL, 1, nil))
	d := &deployment{t: t, serverURL: database.APIURL}
	p := programs.Start(t, sandbox.Command(t, program(t, "petstore"), "serve"), d.env()...)
	checkDocumented(t, "schema older than the server", "fails", "; run: petstorectl migrate up")
	p.FailsWith("and this program needs ")
	if !strings.HasSuffix(strings.TrimSpace(p.Stderr()), "; run: petstorectl migrate up") {
		t.Errorf("stderr %q says not what to do", p.Stderr())
	}
}

// TestStartupOnABusyPostgres: it answers no connection at first, nor those of the checks. A server
// goes on, and says for what it waits.
func TestStartupOnABusyPostgres(t *testing.T) {
	t.Parallel()
	const unanswered = 4
	var connections atomic.Int64
	postgres := storetest.NewTLSServer(t)
	address := storetest.Proxy(t, "tcp", "localhost:"+postgres.Port, func(client, server net.Conn) {
		if n := connections.Add(1); n > unanswered && n != unanswered+2 && n != unanswered+4 {
			passOn(client, server)
		}
	})
	url := "postgres://" + storetest.APILogin + ":unused@" + address + "/postgres?sslmode=require"
	s := newDeploymentAs(t, postgres.URL, url, postgres.SupportURL, "").serve()
	n := s.Logged(`"level":"warn"`, "reach the database", "waiting for Postgres")
	assert.True(t, n >= unanswered, n, "lines that say so, want", unanswered)
	connections.Store(0)
	assert.NoError(t, migrate.Check(t.Context(), url))
}

// env is the environment of a server on free ports.
func (d *deployment) env() []string {
	return []string{
		"PETSTORE_DATABASE_URL=" + d.serverURL,
		"PETSTORE_ADDR=127.0.0.1:0",
		"PETSTORE_ADMIN_ADDR=127.0.0.1:0",
	}
}

func execute(t testing.TB, databaseURL, statements string) {
	t.Helper()
	assert.NoError(t, tryExecute(databaseURL, statements), statements)
}

func tryExecute(databaseURL, statements string) error {
	db, err := sql.Open("postgres", databaseURL)
	if err != nil {
		return err
	}
	_, err = db.Exec(statements)
	return errors.Join(err, db.Close())
}

// dropLogin drops a login and its _owner, if there is one, with what they own in the database.
func dropLogin(t *testing.T, databaseURL, login string) {
	t.Helper()
	for _, role := range []string{login, login + "_owner"} {
		err := tryExecute(databaseURL, "drop owned by "+role+" cascade; drop role "+role)
		if err != nil && pq.As(err, pqerror.UndefinedObject) == nil {
			t.Errorf("drop %s: %v", role, err)
		}
	}
}
