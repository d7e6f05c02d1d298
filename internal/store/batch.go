package store

import (
	"context"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// MaxBatch is the most changes that a batch should make: automatic bans wait while its audit
// entries are written.
const MaxBatch = 1000

// Batch runs fn in one transaction: all changes that fn makes with its DB are made, or none if fn
// or any change fails. That DB is for one goroutine, and sees the batch's changes. by.DryRun, or a
// dry run of any change, rolls everything back. The audit entries are written at the end, with
// consecutive numbers.
//
// Each statement has the time limit of a call. fn is called once. A batch that changes several
// tenants or keys calls Lock first.
func (d *DB) Batch(ctx context.Context, by audit.By, fn func(context.Context, *DB) error) error {
	return trail.Run(ctx, d.pg.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
		return fn(ctx, newDB(d.pg.In(tx)))
	})
}

// Lock blocks other changes to tenants and keys until the batch ends, as LockAll does.
func (d *DB) Lock(ctx context.Context, names, keyIDs []string) error {
	return tenants.LockAll(ctx, d.pg, names, keyIDs)
}
