package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// statements holds the hot statements, each prepared on first use: a prepared statement takes one round trip, one with
// arguments that is not prepared takes two.
type statements struct {
	mu sync.RWMutex
	m  map[string]*statement
}

// statement is closed when it was dropped and the last who uses it has released it: one that is closed in between fails.
type statement struct {
	*sqlx.Stmt
	query string
	// uses counts those who use it, and statements as one while it holds it.
	uses atomic.Int64
}

func (s *statement) release() {
	if s.uses.Add(-1) == 0 {
		// It fails where the connection is broken, and with that the statement is gone.
		_ = s.Close()
	}
}

// get returns the statement of the query, to be released after use.
func (s *statements) get(ctx context.Context, db *sqlx.DB, query string) (*statement, error) {
	if stmt := s.find(query); stmt != nil {
		return stmt, nil
	}
	prepared, err := db.PreparexContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if won, ok := s.m[query]; ok {
		won.uses.Add(1)
		return won, prepared.Close()
	}
	if s.m == nil {
		s.m = map[string]*statement{}
	}
	stmt := &statement{Stmt: prepared, query: query}
	stmt.uses.Store(2)
	s.m[query] = stmt
	return stmt, nil
}

// find returns nil when the statement is not prepared.
func (s *statements) find(query string) *statement {
	s.mu.RLock()
	defer s.mu.RUnlock()
	stmt := s.m[query]
	if stmt != nil {
		stmt.uses.Add(1)
	}
	return stmt
}

// drop has the query prepared anew, unless it was since this statement was.
func (s *statements) drop(stmt *statement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m[stmt.query] == stmt {
		delete(s.m, stmt.query)
		stmt.release()
	}
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for query, stmt := range s.m {
		delete(s.m, query)
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// selectPrepared runs a hot query and scans all its rows into dest, a pointer to a slice of structs.
func (d *conn) selectPrepared(ctx context.Context, dest any, query string, args ...any) error {
	return d.queryPrepared(ctx, func(rows *sqlx.Rows) error { return sqlx.StructScan(rows, dest) }, query, args...)
}

// queryPrepared runs a hot query and has its rows collected. A migration can change what a prepared statement returns;
// Postgres then says so, and the statement is prepared again, once.
func (d *conn) queryPrepared(ctx context.Context, collect func(*sqlx.Rows) error, query string, args ...any) error {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	for again := false; ; again = true {
		stmt, err := d.stmts.get(ctx, d.db, query)
		if err != nil {
			return translateIn(ctx, err)
		}
		err = collectRows(ctx, stmt.Stmt, collect, args)
		stale := pq.As(err, pqerror.FeatureNotSupported) != nil
		if stale {
			d.stmts.drop(stmt)
		}
		stmt.release()
		if again || !stale {
			return translateIn(ctx, err)
		}
	}
}

func collectRows(ctx context.Context, stmt *sqlx.Stmt, collect func(*sqlx.Rows) error, args []any) error {
	rows, err := stmt.QueryxContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if err := collect(rows); err != nil {
		return err
	}
	return rows.Err()
}
