package storetest

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"petstore.example/internal/test/assert"
)

// FillDisk empties a table and replaces its file by /dev/full. Postgres then can't extend the file
// (SQLSTATE 53100), as on a full disk. free gives the table a normal file again.
func (d *Database) FillDisk(t testing.TB, table string) (free func()) {
	t.Helper()
	truncate := func(before func(*sql.Tx)) {
		t.Helper()
		db, err := sql.Open("postgres", d.URL)
		assert.NoError(t, err)
		defer db.Close()
		tx, err := db.BeginTx(t.Context(), nil)
		assert.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		_, err = tx.Exec(
			`truncate ` + table + ` cascade`,
		) // The table gets a new file. Other sessions open it after the commit.
		assert.NoError(t, err)
		before(tx)
		assert.NoError(t, tx.Commit())
	}
	truncate(func(tx *sql.Tx) {
		var dir, file string
		assert.NoError(
			t,
			tx.QueryRow(`select current_setting('data_directory'), pg_relation_filepath($1)`, table).Scan(&dir, &file),
		)
		file = filepath.Join(dir, file)
		assert.NoError(t, os.Remove(file))
		assert.NoError(t, os.Symlink("/dev/full", file))
	})
	return func() { t.Helper(); truncate(func(*sql.Tx) {}) }
}
