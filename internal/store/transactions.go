package store

import (
	"context"

	"petstore.example/internal/store/pgconn"
)

// Transactions tells which transactions have ended, whoever made them. A commit that waits for a synchronous standby has not.
type Transactions struct{ db *pgconn.DB }

// Next returns a number above that of every transaction which has begun to write. It takes that number.
func (d Transactions) Next(ctx context.Context) (int64, error) {
	return d.number(ctx, `select pg_current_xact_id()::text::bigint`)
}

// Oldest returns a number below which every transaction has ended: what it wrote is visible, or never will be.
func (d Transactions) Oldest(ctx context.Context) (int64, error) {
	return d.number(ctx, `select pg_snapshot_xmin(pg_current_snapshot())::text::bigint`)
}

func (d Transactions) number(ctx context.Context, query string) (n int64, err error) {
	defer wrap(&err, "number of a transaction")
	err = d.db.Get(ctx, &n, query)
	return n, err
}
