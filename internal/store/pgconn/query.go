package pgconn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// Queryer reads: a DB, or a Tx.
type Queryer interface {
	// Select scans all rows into dest, a pointer to a slice.
	Select(ctx context.Context, dest any, query string, args ...any) error
	// Get scans the first row into dest. It returns sql.ErrNoRows if there is none.
	Get(ctx context.Context, dest any, query string, args ...any) error
}

var (
	_ Queryer = (*DB)(nil)
	_ Queryer = Tx{}
)

// Collect runs a query and converts each of its rows.
func Collect[Row, T any](ctx context.Context, q Queryer, convert func(Row) T, query string, args ...any) ([]T, error) {
	var rows []Row
	if err := q.Select(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	all := make([]T, len(rows))
	for i, r := range rows {
		all[i] = convert(r)
	}
	return all, nil
}

// GetOr is Get, but returns absent if there is no row.
func GetOr(ctx context.Context, q Queryer, dest any, absent error, query string, args ...any) error {
	err := q.Get(ctx, dest, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = absent
	}
	return err
}

// CollectMap runs a query with the columns key and value.
func CollectMap[K comparable, V any](ctx context.Context, q Queryer, query string, args ...any) (map[K]V, error) {
	var rows []struct {
		Key   K
		Value V
	}
	if err := q.Select(ctx, &rows, query, args...); err != nil {
		return nil, err
	}
	all := make(map[K]V, len(rows))
	for _, r := range rows {
		all[r.Key] = r.Value
	}
	return all, nil
}

// Stream runs a query and calls each for every row as it arrives, so memory holds one. An error of
// each ends it. The time limit of a call bounds each wait for the database; a slow reader may take
// any time. Within a transaction memory holds all rows, because each may run other statements.
func Stream[Row any](ctx context.Context, d *DB, each func(Row) error, query string, args ...any) error {
	if d.within != nil {
		return eachOf(ctx, d, each, query, args)
	}
	return runIn(ctx, func(ctx context.Context) error { return stream(ctx, d, each, query, args) })
}

func stream[Row any](ctx context.Context, d *DB, each func(Row) error, query string, args []any) error {
	bounded, cancel := context.WithCancelCause(ctx)
	wait := time.AfterFunc(d.timeout, func() { cancel(context.DeadlineExceeded) })
	defer wait.Stop()
	defer cancel(nil)
	err := eachRow(bounded, d, func(row Row) error {
		wait.Stop()
		defer wait.Reset(d.timeout)
		return each(row)
	}, func() { cancel(nil) }, query, args)
	if err != nil && errors.Is(context.Cause(bounded), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

func eachRow[Row any](ctx context.Context, d *DB, each func(Row) error, cancel func(), query string, args []any) error {
	rows, err := d.pool.QueryxContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() {
		cancel() // Otherwise Close would read all remaining rows.
		_ = rows.Close()
	}()
	for rows.Next() {
		var row Row
		if err := rows.StructScan(&row); err != nil {
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

func eachOf[Row any](ctx context.Context, d *DB, each func(Row) error, query string, args []any) error {
	var rows []Row
	err := d.Select(ctx, &rows, query, args...)
	for i := 0; err == nil && i < len(rows); i++ {
		err = each(rows[i])
	}
	return err
}

// Select implements Queryer.
func (d *DB) Select(ctx context.Context, dest any, query string, args ...any) error {
	if d.within != nil {
		return d.within.Select(ctx, dest, query, args...)
	}
	return d.run(ctx, reads, query, func(ctx context.Context) error {
		return d.pool.SelectContext(ctx, dest, query, args...)
	})
}

// Get implements Queryer.
func (d *DB) Get(ctx context.Context, dest any, query string, args ...any) error {
	if d.within != nil {
		return d.within.Get(ctx, dest, query, args...)
	}
	return d.run(ctx, reads, query, func(ctx context.Context) error {
		return d.pool.GetContext(ctx, dest, query, args...)
	})
}

// Exec runs a statement that may run twice, and returns the number of changed rows.
func (d *DB) Exec(ctx context.Context, query string, args ...any) (rows int, err error) {
	if d.within != nil {
		return d.within.Exec(ctx, query, args...)
	}
	err = d.run(ctx, writes, query, func(ctx context.Context) error {
		rows, err = exec(ctx, d.pool, query, args)
		return err
	})
	return rows, err
}

// Tx runs work in one transaction, which is committed if work returns nil and rolled back
// otherwise. It may call work a second time, after the first transaction was rolled back. If the
// reply to the commit is lost, the error is ErrOutcomeUnknown.
func (d *DB) Tx(ctx context.Context, work func(context.Context, Tx) error) error {
	return transact(ctx, d, work, "", new(bool))
}

// transact is Tx with a deadline, "" for none. It sets sent when it sends the commit.
func transact(ctx context.Context, d *DB, work func(context.Context, Tx) error, deadline string, sent *bool) error {
	if d.within != nil {
		return work(ctx, *d.within)
	}
	return d.run(ctx, writes, "transaction", func(ctx context.Context) error {
		tx, err := d.pool.BeginTxx(ctx, nil)
		if err != nil {
			return err
		}
		if err := work(ctx, Tx{tx: tx, tracer: d.tracer, deadline: deadline}); err != nil {
			// The error of work says more than the roll-back's.
			_ = tx.Rollback()
			return err
		}
		return commit(ctx, tx, sent)
	})
}

// commit commits, or returns a CommitError. A transaction whose ctx has ended is rolled back: then
// sent is not set.
func commit(ctx context.Context, tx *sqlx.Tx, sent *bool) error {
	if ctx.Err() != nil {
		_ = tx.Rollback()
		return ctx.Err()
	}
	*sent = true
	return CommitError(tx.Commit())
}

// LongTx is Tx for work that may take any time: each of its statements has the time limit of a
// call. It calls work once, and returns the errors of work unchanged. If the reply to the commit is
// lost, the error is ErrOutcomeUnknown.
func (d *DB) LongTx(ctx context.Context, work func(context.Context, Tx) error) error {
	if d.within != nil {
		return work(ctx, *d.within)
	}
	found := d.opener.found.Load()
	tx, err := d.pool.BeginTxx(ctx, nil)
	if err != nil {
		return translateIn(ctx, err)
	}
	if err := work(ctx, Tx{tx: tx, timeout: d.timeout, tracer: d.tracer}); err != nil {
		_ = tx.Rollback() // The error of work says more.
		return d.noted(found, err)
	}
	return translateIn(ctx, commit(ctx, tx, new(bool)))
}

// Tx is a transaction.
type Tx struct {
	tx *sqlx.Tx
	// timeout bounds each statement; 0 if the transaction itself is bounded.
	timeout  time.Duration
	tracer   tracer
	local    any
	deadline string
}

// Deadline returns the argument for petstore.deadline (see WriteTx); "" for none.
func (t Tx) Deadline() string { return t.deadline }

// With returns the transaction with a value for Local. The function that began the transaction sets
// it.
func (t Tx) With(local any) Tx {
	t.local = local
	return t
}

// Local returns the value of With, nil for none.
func (t Tx) Local() any { return t.local }

// In returns the database within the transaction. Its statements are part of the transaction, and
// so are those of its Tx and LongTx. It is for one goroutine, until the transaction ends, and has
// no Direct.
func (d *DB) In(tx Tx) *DB {
	within := *d
	within.within = &tx
	return &within
}

// InTx reports whether the database was returned by In.
func (d *DB) InTx() bool { return d.within != nil }

var errInTx = errors.New("not possible within a transaction")

// Select implements Queryer.
func (t Tx) Select(ctx context.Context, dest any, query string, args ...any) error {
	return t.run(ctx, query, func(ctx context.Context) error { return t.tx.SelectContext(ctx, dest, query, args...) })
}

// Get implements Queryer.
func (t Tx) Get(ctx context.Context, dest any, query string, args ...any) error {
	return t.run(ctx, query, func(ctx context.Context) error { return t.tx.GetContext(ctx, dest, query, args...) })
}

// Exec returns the number of rows that the statement changed.
func (t Tx) Exec(ctx context.Context, query string, args ...any) (rows int, err error) {
	err = t.run(ctx, query, func(ctx context.Context) error {
		rows, err = exec(ctx, t.tx, query, args)
		return err
	})
	return rows, err
}

func (t Tx) run(ctx context.Context, query string, do func(context.Context) error) error {
	return t.tracer.call(ctx, query, func(ctx context.Context) error { return t.bounded(ctx, do) })
}

func (t Tx) bounded(ctx context.Context, do func(context.Context) error) error {
	if t.timeout == 0 {
		return do(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	return translateIn(ctx, do(bounded))
}

func exec(ctx context.Context, e sqlx.ExecerContext, query string, args []any) (int, error) {
	result, err := e.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	rows, err := result.RowsAffected()
	return int(rows), err
}

// maxBroken is the number of connections that Direct passes over because they ended while idle:
// more than any pool has.
const maxBroken = 64

// Direct runs one statement in a transaction of its own, in one round trip and at most once. It
// calls collect for each row; a row's values are valid until collect returns.
//
// It uses the driver's connection itself (sql.Conn.Raw), which database/sql then leaves alone. It
// therefore looks at a connection before it sends anything, and passes over one that ended while it
// was idle. If the connection breaks later, it returns an error, and nobody knows whether the
// statement took effect.
//
// Postgres ends a statement that waits too long (statement_timeout). Otherwise it could take effect
// long after Direct returned.
func (d *DB) Direct(
	ctx context.Context,
	collect func(row []driver.Value) error,
	query string,
	args ...driver.Value,
) error {
	return direct(ctx, d, reads, collect, query, args, new(bool))
}

// direct is Direct for either kind. It sets sent if the statement may have been sent.
func direct(
	ctx context.Context,
	d *DB,
	k kind,
	collect func(row []driver.Value) error,
	query string,
	args []driver.Value,
	sent *bool,
) error {
	if d.within != nil {
		return errInTx
	}
	named := make([]driver.NamedValue, len(args))
	for i, v := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return d.run(ctx, k, query, func(ctx context.Context) error {
		for tries := 1; ; tries++ {
			conn, err := d.pool.Conn(ctx)
			if err != nil {
				return err
			}
			if k == writes && d.abandoned(ctx) {
				_ = conn.Close()
				return errAbandoned
			}
			err = conn.Raw(func(lent any) error { return lent.(*session).run(query, named, collect) })
			_ = conn.Close() // The pool takes the connection back, or drops a broken one.
			*sent = !errors.Is(err, errNotSent)
			if tries == maxBroken || *sent {
				return err
			}
		}
	})
}

// run runs work as one call. statement is for the trace.
func (d *DB) run(ctx context.Context, k kind, statement string, work func(context.Context) error) error {
	return d.tracer.call(ctx, statement, func(ctx context.Context) error { return d.bounded(ctx, k, work) })
}

// bounded gives work the time of one call. It runs work a second time if a prepared statement was
// out of date: the first run then had no effect, and the next use of each statement prepares it
// again.
func (d *DB) bounded(ctx context.Context, k kind, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	began, found := time.Now(), d.opener.found.Load()
	err := d.noted(found, d.gate.pass(ctx, k, work))
	if d.api && isBeingRestored(err) {
		err = unavailableError{err}
	}
	if d.observe != nil {
		d.observe(time.Since(began), failure(err))
	}
	return err
}

func runIn(ctx context.Context, work func(context.Context) error) error {
	err := work(ctx)
	if isOutOfDate(err) {
		err = work(ctx)
	}
	return translateIn(ctx, err)
}

// isOutOfDate reports whether a prepared statement does not fit any more: a migration has changed
// its result, or a restore has replaced the types of its parameters, which Postgres reports as an
// internal error.
func isOutOfDate(err error) bool {
	return pq.As(err, pqerror.FeatureNotSupported, pqerror.InternalError) != nil
}
