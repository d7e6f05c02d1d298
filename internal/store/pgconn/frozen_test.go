package pgconn_test

import (
	"context"
	"database/sql"
	"testing"

	"petstore.example/internal/store/migrate"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestFrozen: whoever set default_transaction_read_only, nothing is written, by a statement or in a
// transaction, and the error names the setter. Reads go on, and writes after the thaw.
func TestFrozen(t *testing.T) {
	t.Parallel()
	s := storetest.NewServer(t)
	admin, err := sql.Open("postgres", s.URL+"&default_transaction_read_only=off")
	assert.NoError(t, err)
	defer admin.Close()
	exec := func(statement string) {
		t.Helper()
		_, err := admin.ExecContext(t.Context(), statement)
		assert.NoError(t, err, statement)
	}
	exec(`create table notes (n int); grant all on notes to petstore_api`)
	for _, c := range []struct{ source, what, thaw, url string }{
		{"database", `alter database postgres set default_transaction_read_only = on`,
			`alter database postgres reset default_transaction_read_only`, ""},
		{"user", `alter role api_server set default_transaction_read_only = on`,
			`alter role api_server reset default_transaction_read_only`, ""},
		{"database user", `alter role api_server in database postgres set default_transaction_read_only = on`,
			`alter role api_server in database postgres reset default_transaction_read_only`, ""},
		{"global", `alter role all set default_transaction_read_only = on`,
			`alter role all reset default_transaction_read_only`, ""},
		{"configuration file", `alter system set default_transaction_read_only = on`,
			`alter system reset default_transaction_read_only`, ""},
		{"client", `select`, ``, "&default_transaction_read_only=on"},
		{"client", `select`, ``, "&options=-c%20default_transaction_read_only%3Don"},
	} {
		exec(c.what)
		exec(`select pg_reload_conf()`)
		wait.Until(t, c.source, func() bool {
			probe, err := pgconn.Open(t.Context(), s.APIURL+c.url, pgconn.Options{AsAPI: true, OpenTimeout: wait.Limit})
			assert.NoError(t, err)
			defer probe.Close()
			return pgconn.Reason(probe.PingWrites(t.Context())) == pgconn.ReadOnly
		})
		db, err := pgconn.Open(t.Context(), s.APIURL+c.url, pgconn.Options{AsAPI: true, OpenTimeout: wait.Limit})
		assert.NoError(t, err)
		insert := func(ctx context.Context, tx pgconn.Tx) error {
			_, err := tx.Exec(ctx, `insert into notes values (1)`)
			return err
		}
		_, alone := db.Exec(t.Context(), `insert into notes values (1)`)
		for how, err := range map[string]error{
			"a statement":   alone,
			"a transaction": db.Tx(t.Context(), insert),
			"a long one":    db.LongTx(t.Context(), insert),
		} {
			assert.Equal(t, pgconn.Reason(err), pgconn.ReadOnly, c.source, how, err)
			assert.Contains(t, err.Error(), "pg_settings.source: "+c.source, how)
		}
		var n int
		err = db.Get(t.Context(), &n, `select count(*) from notes`)
		assert.True(t, err == nil && n == 0, c.source, "notes", n, err)
		if c.thaw != "" {
			if c.source == "database" {
				err := migrate.Down(t.Context(), s.URL, 1, nil)
				assert.Equal(t, pgconn.Reason(err), pgconn.ReadOnly, "a migration", err)
				assert.Contains(t, err.Error(), "pg_settings.source: database")
			}
			exec(c.thaw)
			exec(`select pg_reload_conf()`)
			wait.Until(t, "a write after the thaw", func() bool { return db.Tx(t.Context(), insert) == nil })
			exec(`truncate notes`)
		}
		assert.NoError(t, db.Close())
	}
}
