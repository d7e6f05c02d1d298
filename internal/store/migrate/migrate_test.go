package migrate_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"petstore.example/internal/store/migrate"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// emptySchema returns the address of a schema that nothing has been migrated in, and a connection
// to it.
func emptySchema(t *testing.T) (url string, db *sql.DB) {
	t.Helper()
	url = storetest.New(t).URL + "&search_path=fresh"
	db, err := sql.Open("postgres", url)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	run(t, db, `create schema fresh`)
	return url, db
}

func run(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query)
	assert.NoError(t, err, query)
}

// beginGate begins a transaction that has a lock on the table gate.
func beginGate(t *testing.T, db *sql.DB, lock string) *sql.Tx {
	t.Helper()
	run(t, db, `create table gate (n int)`)
	tx, err := db.BeginTx(t.Context(), nil)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback() })
	_, err = tx.ExecContext(t.Context(), lock)
	assert.NoError(t, err)
	return tx
}

func files(pairs ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fs[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fs
}

var threeSteps = files(
	"0001_a.up.sql", "create table a (n int)", "0001_a.down.sql", "drop table a",
	"0002_b.up.sql", "create table b (n int)", "0002_b.down.sql", "drop table b",
	"0003_c.up.sql", "create table c (n int)", "0003_c.down.sql", "drop table c",
)

func newMigrator(files fstest.MapFS) migrate.Migrator {
	return migrate.NewMigrator(files, 10*time.Second)
}

func wantStatus(t *testing.T, m migrate.Migrator, url string, want migrate.Status) {
	t.Helper()
	got, err := m.Status(t.Context(), url)
	assert.Result(t, got, err, want, "status")
}

func TestUpAndDown(t *testing.T) {
	t.Parallel()
	url, _ := emptySchema(t)
	m := newMigrator(threeSteps)
	wantStatus(t, m, url, migrate.Status{Latest: 3, Pending: []string{"0001_a", "0002_b", "0003_c"}})
	for range 2 { // the second time there is nothing to do
		assert.NoError(t, m.Up(t.Context(), url))
		wantStatus(t, m, url, migrate.Status{Version: 3, Latest: 3})
	}
	assert.NoError(t, m.Down(t.Context(), url, 2))
	wantStatus(t, m, url, migrate.Status{Version: 1, Latest: 3, Pending: []string{"0002_b", "0003_c"}})
	for _, steps := range []int{2, 0, -1} {
		err := m.Down(t.Context(), url, steps)
		assert.True(t, err != nil, "down", steps, "is not refused")
	}
	wantStatus(t, m, url, migrate.Status{Version: 1, Latest: 3, Pending: []string{"0002_b", "0003_c"}})
	assert.NoError(t, m.Down(t.Context(), url, 1))
	wantStatus(t, m, url, migrate.Status{Latest: 3, Pending: []string{"0001_a", "0002_b", "0003_c"}})
}

func TestMigrateTheRealOnesDownAndUp(t *testing.T) {
	t.Parallel()
	url := storetest.New(t).URL
	full, err := migrate.GetStatus(t.Context(), url)
	assert.NoError(t, err)
	if full.Version != full.Latest || len(full.Pending) > 0 {
		t.Fatalf("a test's database is at %+v", full)
	}
	assert.NoError(t, migrate.Down(t.Context(), url, int(full.Latest), nil))
	assert.NoError(t, migrate.Up(t.Context(), url, nil))
	again, err := migrate.GetStatus(t.Context(), url)
	assert.Result(t, again, err, full, "after down and up")
}

func TestRefusedMigrationTakesNoEffect(t *testing.T) {
	t.Parallel()
	url, _ := emptySchema(t)
	broken := files(
		"0001_a.up.sql", "create table a (n int)", "0001_a.down.sql", "drop table a; select 1/0",
		"0002_b.up.sql", "create table b (n int);\nselect 1/0", "0002_b.down.sql", "drop table b",
	)
	m := newMigrator(broken)
	err := m.Up(t.Context(), url)
	if err == nil || !strings.Contains(err.Error(), "between 0001_a and 0002_b: ") ||
		!strings.Contains(err.Error(), "division by zero") {
		t.Errorf("got %v, want the migration and what Postgres says", err)
	}
	wantStatus(t, m, url, migrate.Status{Version: 1, Latest: 2, Pending: []string{"0002_b"}})

	err = m.Down(t.Context(), url, 1)
	if err == nil || !strings.Contains(err.Error(), "between 0001_a and the empty database: ") {
		t.Errorf("got %v, want the migration", err)
	}
	wantStatus(t, m, url, migrate.Status{Version: 1, Latest: 2, Pending: []string{"0002_b"}})

	assert.Equal(t, newMigrator(threeSteps).Up(t.Context(), url), nil, "once mended")
}

func TestMigrateFromStatesThatNeedAPerson(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sql, want string
	}{
		"dirty, by another program": {
			`update schema_migrations set version = 2, dirty = true`,
			"Dirty database version 2. Fix and force version.",
		},
		"newer": {
			`update schema_migrations set version = 9`,
			"the database is newer than this program: it is at version 9, this program knows 3; use the release " +
				"that migrated it, or a later one",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := emptySchema(t)
			m := newMigrator(threeSteps)
			assert.NoError(t, m.Up(t.Context(), url))
			run(t, db, test.sql)
			up, down := m.Up(t.Context(), url), m.Down(t.Context(), url, 1)
			if up == nil || up.Error() != test.want {
				t.Errorf("up: got %v, want %s", up, test.want)
			}
			if down == nil || down.Error() != test.want {
				t.Errorf("down: got %v, want %s", down, test.want)
			}
		})
	}
}

func TestMigrateInSeveralProcesses(t *testing.T) {
	t.Parallel()
	url, _ := emptySchema(t)
	steps := files(
		"0001_a.up.sql", "create table a (n int); select pg_sleep(0.2)",
		"0002_b.up.sql", "-- no transaction\ncreate index concurrently if not exists a_n on a (n)",
	)
	m := newMigrator(steps)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			assert.Equal(t, m.Up(t.Context(), url), nil)
		})
	}
	all.Wait()
	wantStatus(t, m, url, migrate.Status{Version: 2, Latest: 2})
}

func TestMigrateWaitsOnlySoLong(t *testing.T) {
	t.Parallel()
	url, db := emptySchema(t)
	tx := beginGate(t, db, `lock table gate`)
	slow := newMigrator(files("0001_a.up.sql", "select from gate"))
	done := make(chan error, 1)
	go func() { done <- slow.Up(t.Context(), url) }()
	const waiting = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type =
		'Lock'`
	for n := 0; n == 0; {
		assert.NoError(t, db.QueryRowContext(t.Context(), waiting).Scan(&n))
	}

	hasty := migrate.NewMigrator(threeSteps, 50*time.Millisecond)
	assert.ErrorIs(t, hasty.Down(t.Context(), url, 1), migrate.ErrLocked)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, slow.Up(ctx, url), context.DeadlineExceeded)
	assert.NoError(t, tx.Rollback())
	assert.Equal(t, <-done, nil)
}

// TestMigrateIsCancelled: the context ends while Postgres is at a statement, which it then cancels.
func TestMigrateIsCancelled(t *testing.T) {
	t.Parallel()
	url, db := emptySchema(t)
	m := newMigrator(threeSteps)
	assert.NoError(t, m.Up(t.Context(), url))
	beginGate(t, db, `lock table schema_migrations`)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, m.Up(ctx, url), context.DeadlineExceeded)
}

// TestMigrateAgainAfterADeadlock: a session locks the tables of a migration in the other order, and
// Postgres ends the migration.
func TestMigrateAgainAfterADeadlock(t *testing.T) {
	t.Parallel()
	url, db := emptySchema(t)
	run(t, db, `create table other (n int)`)
	tx := beginGate(t, db, `set local deadlock_timeout = '1h'; lock table gate`)
	m := newMigrator(files("0001_a.up.sql", "alter table other add m int; alter table gate add m int"))
	done := make(chan error, 1)
	go func() { done <- m.Up(t.Context(), url) }()
	const waiting = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type =
		'Lock'`
	for n := 0; n == 0; {
		assert.NoError(t, db.QueryRowContext(t.Context(), waiting).Scan(&n))
	}
	_, err := tx.ExecContext(t.Context(), `lock table other`)
	assert.NoError(t, err)
	assert.NoError(t, tx.Rollback())
	assert.Equal(t, <-done, nil)
	wantStatus(t, m, url, migrate.Status{Version: 1, Latest: 1})
}

func TestMigrateWaitsOnlySoLongForATable(t *testing.T) {
	t.Parallel()
	url, db := emptySchema(t)
	beginGate(t, db, `select from gate`)
	m := migrate.NewMigrator(files("0001_a.up.sql", "alter table gate add m int"), 50*time.Millisecond)
	if err := m.Up(t.Context(), url); err == nil || !strings.Contains(err.Error(), "lock timeout") {
		t.Errorf("got %v, want a lock timeout", err)
	}
	wantStatus(t, m, url, migrate.Status{Latest: 1, Pending: []string{"0001_a"}})
}

func TestMigrateNamesNoPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:geheim@127.0.0.1:1/x?sslmode=disable", "postgres://u:geheim@%zz/x",
		"password=geheim host"} {
		if _, err := migrate.GetStatus(t.Context(), url); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("got %v, want an error without the password", err)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	url, db := emptySchema(t)
	var never pgconn.NeverMigratedError
	err := migrate.Check(t.Context(), url)
	assert.True(t, errors.As(err, &never), "an empty schema", err, "want NeverMigratedError")
	assert.NoError(t, migrate.Up(t.Context(), url, nil))
	run(t, db, `grant usage on schema fresh to petstore_api`)
	assert.Equal(t, migrate.Check(t.Context(), url), nil, "a migrated schema")
	run(t, db, `update schema_migrations set version = version + 1000`)
	assert.ErrorIs(t, migrate.Check(t.Context(), url), migrate.ErrNewer, "a newer schema")
	run(t, db, `update schema_migrations set version = 1`)
	if err := migrate.Check(
		t.Context(),
		url,
	); err == nil ||
		!strings.HasSuffix(err.Error(), "; run: petstorectl migrate up") {
		t.Errorf("an old schema: %v, want what to do", err)
	}
}
