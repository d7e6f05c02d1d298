package store

import (
	"context"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// MaxBatch is the most changes that a batch should make: while their audit entries are written,
// automatic bans wait.
const MaxBatch = 1000

// Batch runs fn, whose changes are made in one transaction if it makes them with the DB that it is
// given: all of them, or none if fn or any of the changes fails. That DB is for one goroutine, and
// reads what the batch has changed. by.DryRun, or that of any change, rolls all back. The audit
// entries are written at the end, with numbers that follow each other.
//
// Each statement has the time of a call; fn is called once. A batch that changes several tenants or
// keys calls Lock first.
func (d *DB) Batch(ctx context.Context, by audit.By, fn func(context.Context, *DB) error) error {
	return trail.Run(ctx, d.pg.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
		return fn(ctx, newDB(d.pg.In(tx)))
	})
}

// Lock blocks other changes to tenants and keys until the batch ends, as LockAll does.
func (d *DB) Lock(ctx context.Context, names, keyIDs []string) error {
	return tenants.LockAll(ctx, d.pg, names, keyIDs)
}
