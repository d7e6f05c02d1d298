package pgconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/catalog"
)

// Write is Direct for a change that must not be made after its caller gave up. The query has one
// parameter more than args: the deadline as text, to which it sets petstore.deadline for its
// transaction. A trigger then makes Postgres refuse a later commit.
//
// If Options.Abandoned returns true when the write has its turn, it does not begin, and the error
// is context.Canceled. If the process stands still after that, the deadline passes.
//
// The error is catalog.ErrNotMade if the change certainly was not made, and never will be. Any
// other error of unknown outcome is returned only after the deadline: by then the change was made,
// or never will be. docs/errors.md has the exceptions.
func Write(
	ctx context.Context,
	d *DB,
	collect func(row []driver.Value) error,
	query string,
	args ...driver.Value,
) error {
	end := endOf(ctx, d)
	sent := false
	err := direct(ctx, d, writes, collect, query, append(args, deadline(d, end)), &sent)
	return settled(ctx, end, err, sent)
}

// WriteTx is Tx for changes that must not be made after their caller gave up, as in Write. A
// statement of the transaction sets petstore.deadline to the result of Deadline.
func WriteTx(ctx context.Context, d *DB, work func(context.Context, Tx) error) error {
	end := endOf(ctx, d)
	sent := false
	err := transact(ctx, d, func(ctx context.Context, tx Tx) error {
		if d.abandoned(ctx) {
			return errAbandoned
		}
		return work(ctx, tx)
	}, deadline(d, end), &sent)
	return settled(ctx, end, err, sent)
}

// errAbandoned is the error of a write whose client is gone.
var errAbandoned = fmt.Errorf("the client is gone: %w", context.Canceled)

// endOf returns when a call is given up. It reads the clock again, because the process may have
// been stopped since the context was made.
func endOf(ctx context.Context, d *DB) time.Time {
	end := time.Now().Add(d.timeout)
	if earlier, ok := ctx.Deadline(); ok && earlier.Before(end) {
		return earlier
	}
	return end
}

// deadline returns that time by the database's clock, in Unix seconds, as text.
func deadline(d *DB, end time.Time) string {
	if d.earliest != nil {
		end = d.earliest(end)
	}
	return strconv.FormatFloat(float64(end.UnixMicro())/1e6, 'f', 6, 64)
}

// settled returns the error of a write once it can't be made any more. sent says that its commit
// was sent. Then only an error that does not end the connection says for certain that it was not
// committed.
func settled(ctx context.Context, end time.Time, err error, sent bool) error {
	if err == nil {
		return nil
	}
	if e := pq.As(err); !sent || e != nil && e.Severity == "ERROR" {
		return notMadeError{err}
	}
	// Wait longer than end: the estimate of the database's clock may have drifted.
	over := time.After(time.Until(end) + readSlack)
	select {
	case <-over:
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.Canceled) {
			<-over
		}
	}
	return err
}

// ErrNoRow: an INSERT was committed but made no row, as if a trigger had swallowed it. Nobody may
// be told that it was made.
var ErrNoRow error = notMadeError{unavailableError{errors.New("an insert made no row")}}

// notMadeError is the error of a write that was not made, and never will be.
type notMadeError struct{ error }

func (e notMadeError) Unwrap() error { return e.error }

func (e notMadeError) Is(target error) bool { return target == catalog.ErrNotMade }
