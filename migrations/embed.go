// Package migrations holds the database's schema as numbered pairs of SQL files, NNNN_name.up.sql
// and NNNN_name.down.sql. A file is one transaction: it takes effect wholly or not at all.
// If requests would wait for what it locks, one "lock table" at its beginning takes all of it.
//
// What can't be in a transaction is one statement alone in its file, which begins with the line
// "-- no transaction". It can be repeated: "if not exists", "if exists".
package migrations

import "embed"

// FS holds the SQL files at its root.
//
//go:embed *.sql
var FS embed.FS
