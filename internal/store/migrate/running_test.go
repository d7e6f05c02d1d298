package migrate_test

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/store/migrate"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/freeport"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// migrating is how all programs name who migrates.
const migrating = `a migration runs: pid \d+, login "postgres", application "petstore-migrate \S+ 20\S+Z"`

// TestWhileAMigrationRuns: all programs say who runs it. A server that needs what it makes waits for
// it, and so does a second migrate up; others are not kept waiting.
func TestWhileAMigrationRuns(t *testing.T) {
	t.Parallel()
	database := storetest.New(t)
	latest, err := migrate.GetStatus(t.Context(), database.URL)
	assert.NoError(t, err)
	assert.NoError(t, migrate.Down(t.Context(), database.URL, int(latest.Latest)-12, nil))
	held := reader(t, database.URL, "lock table tenants in row exclusive mode")
	ctl := func(url string, args ...string) *programs.Process {
		return programs.Start(
			t,
			sandbox.Command(t, programs.Path(t, "petstorectl"), args...),
			"PETSTORE_DATABASE_URL="+url,
		)
	}
	ends := func(code int, says string, p *programs.Process) {
		t.Helper()
		if got := p.Wait(); got != code || !regexp.MustCompile(says).MatchString(p.Stdout()+p.Stderr()) {
			t.Errorf("exit %d, want %d and %q: %s%s", got, code, says, p.Stdout(), p.Stderr())
		}
	}
	serves := func(args ...string) *programs.Process {
		return programs.Start(
			t,
			sandbox.Command(t, programs.Path(t, "petstore"), append([]string{"serve"}, args...)...),
			"PETSTORE_DATABASE_URL="+database.APIURL,
			"PETSTORE_ADDR=127.0.0.1:0",
			"PETSTORE_ADMIN_ADDR="+freeport.Address(t),
		)
	}

	first := ctl(database.URL, "migrate", "up")
	waits := regexp.MustCompile(
		`petstorectl: migration 0013_sign_ins waits for pid \d+, login "postgres", application "forgotten", `,
	)
	wait.Until(t, "a migration that waits", func() bool { return waits.MatchString(first.Stderr()) }, first)
	second, server := ctl(database.URL, "migrate", "up"), serves()
	end := `(, from the machine of Postgres)?; to end it, run in SQL as login "postgres": ` +
		`select pg_terminate_backend\(\d+\)`
	for _, p := range []*programs.Process{second, server} {
		line := regexp.MustCompile("waiting: " + strings.ReplaceAll(migrating+end, `"`, `\\?"`))
		wait.Until(t, "a program that says who migrates", func() bool { return line.MatchString(p.Stderr()) }, p)
	}
	ends(0, `(?m)^state\trunning$`, ctl(database.SupportURL, "migrate", "status"))
	ends(
		0,
		`(?m)^running\tpid \d+, login "postgres", application "petstore-migrate `,
		ctl(database.SupportURL, "migrate", "status"),
	)
	ends(
		0,
		`(?m)^schema,warn,"version 12, and `+strings.ReplaceAll(migrating, `"`, `"+`),
		ctl(database.SupportURL, "doctor", "-o", "csv"),
	)
	ends(5, migrating+end, ctl(database.URL, "migrate", "down", "--yes"))
	ends(1, "(?m)^fail  .* is at version 12 of its schema and this program needs \\d+; "+migrating, serves("--check"))
	assert.True(t, !second.Ended() && !server.Ended(), "a program does not wait")

	assert.NoError(t, held.Rollback())
	ends(0, "applied 0013_sign_ins, ", first)
	ends(0, "(?m)^the database is up to date$", second)
	programs.ServerOf(server)
	// One that has what it needs does not wait.
	_, err = reader(
		t,
		database.URL,
		"select pg_advisory_lock("+lockOf(t, database.URL)+")",
	).ExecContext(
		t.Context(),
		"select 1",
	)
	assert.NoError(t, err)
	s := programs.ServerOf(serves())
	assert.Equal(t, s.Logged("a migration runs"), 0, "lines of a server that needs no migration")
	assert.Equal(t, server.Stop(syscall.SIGTERM), 0)
}

// TestServeBeforeTheFirstMigrationEnds: there is a table, and the server has no right to it.
func TestServeBeforeTheFirstMigrationEnds(t *testing.T) {
	t.Parallel()
	url, db := emptySchema(t)
	run(t, db, "grant usage on schema fresh to public")
	held := beginGate(t, db, "lock table gate")
	steps := all("")
	delete(steps, "9999_added.up.sql")
	delete(steps, "9999_added.down.sql")
	steps["0001_roles.up.sql"].Data = append([]byte("select from gate;\n"), steps["0001_roles.up.sql"].Data...)
	m := migrate.NewMigrator(steps, wait.Limit)
	done := make(chan error, 1)
	go func() { done <- m.Up(t.Context(), url) }()
	wait.Until(t, "a migration", func() bool {
		s, err := m.Status(t.Context(), url)
		return err == nil && s.Running != nil && count(t, db, "select count(to_regclass('schema_migrations'))") == 1
	})
	api := storetest.As(t, url, storetest.APILogin)
	p := programs.Start(t, sandbox.Command(t, programs.Path(t, "petstore"), "serve"),
		"PETSTORE_DATABASE_URL="+api, "PETSTORE_ADDR=127.0.0.1:0", "PETSTORE_ADMIN_ADDR=127.0.0.1:0")
	wait.Until(
		t,
		"a server that waits",
		func() bool { return strings.Contains(p.Stderr(), "waiting: a migration runs: pid ") },
		p,
	)
	assert.NoError(t, held.Rollback())
	assert.NoError(t, <-done)
	programs.ServerOf(p)
}

// lockOf returns the number of the lock of migrations.
func lockOf(t *testing.T, url string) string {
	t.Helper()
	id, err := migrate.LockID(t.Context(), url)
	assert.NoError(t, err)
	return id
}

// TestWhoMayNotSee: the login of a session and its program are shown to all, since when and from
// where to members of pg_read_all_stats.
func TestWhoMayNotSee(t *testing.T) {
	t.Parallel()
	url, db := emptySchema(t)
	owner := storetest.As(t, url, "migrating_owner")
	run(t, db, `
		drop role if exists migrating_owner; create role migrating_owner login;
		do $$ begin execute format('grant connect on database %I to migrating_owner', current_database()); end $$;
		grant all on schema fresh to migrating_owner;
		create table gate (n int); alter table gate owner to migrating_owner`)
	t.Cleanup(func() { _, _ = db.Exec("drop owned by migrating_owner; drop role migrating_owner") })
	held := reader(t, url, "select from gate")
	m := migrate.NewMigrator(
		files("0001_a.up.sql", "lock table gate in access exclusive mode; alter table gate add m int"),
		time.Second,
	)
	for _, sees := range []string{"", `, in a transaction since 20\S+Z, from the machine of Postgres`} {
		if sees != "" {
			run(t, db, "grant pg_read_all_stats to migrating_owner")
		}
		err := m.Up(t.Context(), owner)
		who := `pid \d+, login "postgres", application "forgotten"` + sees
		assert.True(
			t,
			err != nil &&
				regexp.MustCompile(`between the empty database and 0001_a: locks that it needs are held, for 2s, by `+
					who+`: `).MatchString(err.Error()),
			err,
		)
	}
	assert.NoError(t, held.Rollback())
}

// TestInvalidIndexIsMadeAgain: "if not exists" takes it for made.
func TestInvalidIndexIsMadeAgain(t *testing.T) {
	t.Parallel()
	url, db := emptySchema(t)
	run(t, db, "create table a (n int); insert into a values (1), (1)")
	m := newMigrator(files("0001_a.up.sql", outside+"create index concurrently if not exists a_n on a (n);"))
	_, err := db.ExecContext(t.Context(), "create unique index concurrently a_n on a (n)")
	assert.True(t, err != nil && count(t, db, invalid) == 1, "no invalid index", err)
	assert.NoError(t, m.Up(t.Context(), url))
	assert.Equal(t, count(t, db, invalid), 0, "invalid indexes")
	assert.Equal(t, count(t, db, "select count(*) from pg_indexes where indexname = 'a_n'"), 1, "indexes")
}

func TestApplicationFits(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 1, 2, 3, 0, time.UTC)
	assert.Equal(t, migrate.Application("db1", at), "petstore-migrate db1 2026-11-29T01:02:03Z")
	long := migrate.Application(strings.Repeat("h", 64), at)
	assert.True(t, len(long) <= 63 && strings.HasSuffix(long, "h 2026-11-29T01:02:03Z"), long)
}
