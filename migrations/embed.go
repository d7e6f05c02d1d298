// Package migrations holds the database's schema as numbered pairs of SQL files, NNNN_name.up.sql
// and NNNN_name.down.sql. A file is one transaction: it takes effect wholly or not at all.
package migrations

import "embed"

// FS holds the SQL files at its root.
//
//go:embed *.sql
var FS embed.FS
