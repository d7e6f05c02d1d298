package migrate_test

import (
	"database/sql"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
	"petstore.example/migrations"
)

// outside is the first line of a step that can't be in a transaction.
const outside = "-- no transaction\n"

// TestStepsBeginAndEndNoTransaction: what can't be in a transaction is one statement alone in its
// step, which is marked, and repeatable. No other step has one, and none ends its transaction.
func TestStepsBeginAndEndNoTransaction(t *testing.T) {
	t.Parallel()
	refused := regexp.MustCompile(
		`(?im)\b(concurrently|vacuum)\b|^\s*(begin|commit|rollback|end|start transaction|savepoint)\b[^;$]*;`,
	)
	alone := regexp.MustCompile(
		`^(?:--[^\n]*\n)+(create index concurrently if not exists|drop index concurrently if exists) [^;$]*;\s*$`,
	)
	wrong := func(text string) bool {
		if strings.HasPrefix(text, outside) {
			return !alone.MatchString(text)
		}
		return refused.MatchString(comments.ReplaceAllString(bodies.ReplaceAllString(text, ""), ""))
	}
	for name, text := range steps(t) {
		assert.True(t, !wrong(text), name, "has a statement that does not belong there")
	}
	for _, text := range []string{
		"create index concurrently a on b (c);",
		"alter table a add b int;\ncommit;\nbegin;",
		"VACUUM a;",
		"begin;", "commit;",
		"drop index concurrently if exists a;",
		"reindex index concurrently a;",
		outside + "create index concurrently a on b (c);",
		outside + "create index concurrently if not exists a on b (c); select 1;",
		outside + "alter table a add b int;",
		outside + "drop index a;",
	} {
		assert.True(t, wrong(text), text, "is not refused")
	}
}

var (
	comments = regexp.MustCompile(`--[^\n]*`)
	// bodies are those of functions and of do, in which begin and end are of plpgsql.
	bodies = regexp.MustCompile(`(?s)\$(\w*)\$.*?\$(\w*)\$`)
)

// steps returns the text of each file of the migrations.
func steps(t *testing.T) map[string]string {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.sql")
	assert.NoError(t, err)
	all := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(migrations.FS, name)
		assert.NoError(t, err)
		all[name] = string(text)
	}
	return all
}

// TestStepsTakeTheirLocksAtOnce makes each step up and down, and looks which tables that were there
// before are then locked so that a request would wait. One lock table at the step's beginning takes
// all of them, in the order in which they were made and in no stronger mode than the step needs.
func TestStepsTakeTheirLocksAtOnce(t *testing.T) {
	t.Parallel()
	_, db := emptySchema(t)
	run(t, db, `create table schema_migrations (version bigint primary key, dirty boolean not null)`)
	all := steps(t)
	var order []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasSuffix(name, ".up.sql") {
			order = append(order, name)
		}
	}
	for _, name := range slices.Backward(order) {
		order = append(order, strings.Replace(name, ".up.", ".down.", 1))
	}
	locking := 0
	for _, name := range order {
		if strings.HasPrefix(all[name], outside) {
			run(t, db, all[name])
			continue
		}
		got := ""
		if first := lockTable.FindStringSubmatch(all[name]); first != nil {
			got = first[1]
			locking++
		}
		assert.Equal(t, got, strongLocks(t, db, all[name]), name, "begins with this lock table:")
	}
	assert.True(t, locking > 10, locking, "steps take locks")
}

var lockTable = regexp.MustCompile(`^(?:--[^\n]*\n)*(lock table [^;]*);`)

// strongLocks makes a step, and returns the lock table that takes its locks, "" for none. Partitions
// are locked with their table. Who reads a view has locks on its tables, so a view is waited for
// with them. Where a step locks a view and no table, that is the only one, which the function checks.
func strongLocks(t *testing.T, db *sql.DB, text string) string {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	assert.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), `
		create temporary table before on commit drop as
		select oid, relname, relkind from pg_class
		where relkind in ('r', 'p', 'v') and not relispartition and relnamespace = 'fresh'::regnamespace`)
	assert.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), text)
	assert.NoError(t, err)
	var tables, mode string
	var views int
	assert.NoError(t, tx.QueryRowContext(t.Context(), `
		select coalesce(string_agg(relname, ', ' order by oid) filter (where relkind <> 'v'), ''),
		       count(*) filter (where relkind = 'v'),
		       case when bool_or(exclusive) then 'access exclusive' else 'share row exclusive' end
		from before join (
		  select relation as oid, bool_or(mode = 'AccessExclusiveLock') as exclusive from pg_locks
		  where pid = pg_backend_pid()
		    and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
		  group by relation) l using (oid)`).Scan(&tables, &views, &mode))
	assert.NoError(t, tx.Commit())
	if tables == "" {
		assert.True(t, views < 2, views, "views are locked, one after the other")
		return ""
	}
	return "lock table " + tables + " in " + mode + " mode"
}

// TestDropIndexComesLast: it blocks whoever reads the table until the migration ends, so no index
// is made after it.
func TestDropIndexComesLast(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrations.FS, "*.sql")
	assert.NoError(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(migrations.FS, name)
		assert.NoError(t, err)
		_, after, _ := strings.Cut("\n"+string(text), "\ndrop index")
		if strings.Contains(after, "create index") {
			t.Errorf("%s makes an index after it has dropped one", name)
		}
	}
}
