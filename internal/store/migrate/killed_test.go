package migrate_test

import (
	"database/sql"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/store/migrate"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/wait"
)

func start(t *testing.T, url string) *programs.Process {
	t.Helper()
	return programs.Start(
		t,
		sandbox.Command(t, programs.Path(t, "petstorectl"), "migrate", "up"),
		"PETSTORE_DATABASE_URL="+url,
	)
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	assert.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n), query)
	return n
}

// invalid counts indexes that an ended statement has left.
const invalid = `select count(*) from pg_index where not indisvalid`

// endsWell runs migrate up, which makes of any state the whole schema.
func endsWell(t *testing.T, url string, db *sql.DB, after ...any) {
	t.Helper()
	p := start(t, url)
	assert.Equal(t, p.Wait(), 0, "the exit code of the next migrate up, after", after, p.Stderr())
	s, err := migrate.GetStatus(t.Context(), url)
	assert.Result(t, s, err, migrate.Status{Version: s.Latest, Latest: s.Latest}, "after", after)
	assert.Equal(t, count(t, db, invalid), 0, "indexes are invalid, after", after)
}

// TestKilledMigrations: migrate up is killed at a random instant of each of its steps. The next one
// ends well, and needs nobody who runs SQL.
func TestKilledMigrations(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var killed []int
	for n := 0; len(killed) < 20; n++ {
		assert.True(t, n < 100, n, "runs, and", len(killed), "kills")
		url, db := emptySchema(t)
		p, step := start(t, url), n%18 // 0 before the table of the version is there, or any step
		begun := func() bool {
			return step == 0 || count(t, db, `select count(to_regclass('schema_migrations'))`) > 0 &&
				count(t, db, `select coalesce(max(version), 0) from schema_migrations`) >= step-1
		}
		for !p.Ended() && !begun() { // at once: a step takes some milliseconds
			continue
		}
		// An instant of the step or of one that follows.
		time.Sleep(time.Duration(random.Int64N(int64(15 * time.Millisecond))))
		if p.Ended() {
			continue
		}
		p.Kill()
		at := -1
		_ = db.QueryRowContext(t.Context(), `select coalesce(max(version), 0) from schema_migrations`).Scan(&at)
		killed = append(killed, at)
		endsWell(t, url, db, "a kill at version", at, "seed", seed)
	}
	t.Logf(
		"%d kills, at the versions %v, -1 before the table: each next migrate up ended well, and no index is invalid",
		len(killed),
		killed,
	)
}

// TestKilledIndex: migrate up is killed while it makes the index that can't be in a transaction, in
// each of the phases in which that waits for others. The index is left invalid.
func TestKilledIndex(t *testing.T) {
	t.Parallel()
	for _, held := range []string{
		"lock table failed_requests in row exclusive mode", // the first wait: for those who write
		"select from failed_requests",                      // the last: for those who read an old state
	} {
		url, db := emptySchema(t)
		m := migrate.NewMigrator(only(t, "0011"), wait.Limit)
		assert.NoError(t, m.Up(t.Context(), url))
		tx := reader(t, url, "set transaction isolation level repeatable read; "+held)
		p := start(t, url)
		wait.Until(t, "a migration that says for whom it waits", func() bool {
			return strings.Contains(p.Stderr(), `migration 0011_failed_requests_kind waits for pid `) &&
				strings.Contains(p.Stderr(), `application "forgotten"`)
		}, p)
		p.Kill()
		assert.Equal(t, count(t, db, invalid), 1, "indexes are invalid after the kill")
		assert.NoError(t, tx.Rollback())
		endsWell(t, url, db, held)
	}
}
