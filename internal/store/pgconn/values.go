package pgconn

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Wrap adds the operation to the error of a function: defer wrap(&err, "list plans").
func Wrap(err *error, operation string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", operation, *err)
	}
}

// NullTime is the time as a column value: null for zero.
func NullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: !t.IsZero()} }

// TimeOf is the column value as a time in UTC: zero for null.
func TimeOf(t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}

// NullNumber is the number as a column value: null for zero.
func NullNumber(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: n != 0} }

// Instant returns the instant at, or the present one if at is zero.
func Instant(ctx context.Context, db *DB, tx Tx, at time.Time) (time.Time, error) {
	if !at.IsZero() {
		return at, nil
	}
	// This is not the beginning of the transaction, which may have waited for a lock.
	err := tx.Get(ctx, &at, `select coalesce($1::timestamptz, clock_timestamp())`, db.Now())
	return at.UTC(), err
}
