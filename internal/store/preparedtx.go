package store

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// preparedTx is a transaction of hot statements.
type preparedTx struct {
	tx    *sqlx.Tx
	stmts []*statement
}

// preparedTx runs fn in one transaction, as tx does, with the context that bounds it. The queries that fn will run are
// prepared before: to prepare them within would take a second connection while the first is held.
//
// Where a migration changed what a prepared statement returns, fn is called a second time, after the first transaction
// was rolled back.
func (d *conn) preparedTx(ctx context.Context, queries []string, fn func(context.Context, preparedTx) error) error {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	for again := false; ; again = true {
		stale, err := d.tryPreparedTx(ctx, queries, fn)
		if again || !stale {
			return err
		}
	}
}

// tryPreparedTx reports whether it failed because of a statement that is out of date; all of them were dropped then.
func (d *conn) tryPreparedTx(
	ctx context.Context, queries []string, fn func(context.Context, preparedTx) error,
) (stale bool, err error) {
	stmts := make([]*statement, 0, len(queries))
	defer func() {
		for _, stmt := range stmts {
			if stale {
				d.stmts.drop(stmt)
			}
			stmt.release()
		}
	}()
	for _, query := range queries {
		stmt, err := d.stmts.get(ctx, d.db, query)
		if err != nil {
			return false, translateIn(ctx, err)
		}
		stmts = append(stmts, stmt)
	}
	err = d.tx(ctx, func(tx *sqlx.Tx) error { return fn(ctx, preparedTx{tx, stmts}) })
	return pq.As(err, pqerror.FeatureNotSupported) != nil, err
}

// query scans all rows into dest, a pointer to a slice.
func (p preparedTx) query(ctx context.Context, dest any, query string, args ...any) error {
	stmt, err := p.stmt(ctx, query)
	if err != nil {
		return err
	}
	return stmt.SelectContext(ctx, dest, args...)
}

// get scans the one row into dest; sql.ErrNoRows when there is none.
func (p preparedTx) get(ctx context.Context, dest any, query string, args ...any) error {
	stmt, err := p.stmt(ctx, query)
	if err != nil {
		return err
	}
	return stmt.GetContext(ctx, dest, args...)
}

// exec returns how many rows the statement changed.
func (p preparedTx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	stmt, err := p.stmt(ctx, query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// stmt returns the statement for use within the transaction, with which it ends.
func (p preparedTx) stmt(ctx context.Context, query string) (*sqlx.Stmt, error) {
	for _, stmt := range p.stmts {
		if stmt.query == query {
			return p.tx.StmtxContext(ctx, stmt.Stmt), nil
		}
	}
	return nil, fmt.Errorf("not among the prepared statements: %s", query)
}
