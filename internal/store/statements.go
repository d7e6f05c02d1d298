package store

import (
	"context"
	"errors"
	"sync"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// statements holds the hot statements, each prepared on first use: a prepared statement takes one round trip, one with
// arguments that is not prepared takes two.
type statements struct {
	mu sync.RWMutex
	m  map[string]*sqlx.Stmt
}

func (s *statements) get(ctx context.Context, db *sqlx.DB, query string) (*sqlx.Stmt, error) {
	if stmt := s.find(query); stmt != nil {
		return stmt, nil
	}
	stmt, err := db.PreparexContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if won, ok := s.m[query]; ok {
		return won, stmt.Close()
	}
	if s.m == nil {
		s.m = map[string]*sqlx.Stmt{}
	}
	s.m[query] = stmt
	return stmt, nil
}

// find returns nil when the statement is not prepared.
func (s *statements) find(query string) *sqlx.Stmt {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[query]
}

func (s *statements) drop(query string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt, ok := s.m[query]; ok {
		delete(s.m, query)
		_ = stmt.Close()
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
func (d *DB) selectPrepared(ctx context.Context, dest any, query string, args ...any) error {
	return d.queryPrepared(ctx, func(rows *sqlx.Rows) error { return sqlx.StructScan(rows, dest) }, query, args...)
}

// queryPrepared runs a hot query and has its rows collected. A migration can change what a prepared statement returns;
// Postgres then says so, and the statement is prepared again, once.
func (d *DB) queryPrepared(ctx context.Context, collect func(*sqlx.Rows) error, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	for again := false; ; again = true {
		stmt, err := d.stmts.get(ctx, d.db, query)
		if err != nil {
			return translate(err)
		}
		err = collectRows(ctx, stmt, collect, args)
		if again || pq.As(err, pqerror.FeatureNotSupported) == nil {
			return translate(err)
		}
		d.stmts.drop(query)
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
