// Package migrations holds the database's schema as numbered pairs of SQL files, NNNN_name.up.sql
// and NNNN_name.down.sql. A file is one transaction: it takes effect wholly or not at all. If
// requests would wait for its locks, one "lock table" at its beginning takes all of them.
//
// A statement that can't be in a transaction is alone in its file, which begins with the line "--
// no transaction". It must be repeatable: "if not exists", "if exists".
package migrations

import "embed"

// FS holds the SQL files at its root.
//
//go:embed *.sql
var FS embed.FS
