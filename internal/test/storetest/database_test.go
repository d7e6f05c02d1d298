package storetest_test

import (
	"database/sql"
	"testing"

	_ "github.com/lib/pq"
	"go.uber.org/goleak"

	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(storetest.Suite{M: m}) }

func TestNewIsMigratedAndIsolated(t *testing.T) {
	t.Parallel()
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			db := storetest.New(t)
			owner, api := open(t, db.URL), open(t, db.APIURL)
			exec(t, owner, `create table mine (n int); grant select on mine to petstore_api`)
			if got := text(t, api, `select current_user`); got != "api_server" {
				t.Errorf("a server logs in as %s", got)
			}
			if got := text(t, api, `select count(*) from cluster_term`); got != "1" {
				t.Errorf("%s terms, want the one of the migrations", got)
			}
			if got := text(t, owner, `select count(*) from pg_stat_user_tables where relname = 'mine'`); got != "1" {
				t.Errorf("%s tables of this test, want 1", got)
			}
		})
	}
}

func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func exec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func text(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var got string
	if err := db.QueryRowContext(t.Context(), query).Scan(&got); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return got
}
