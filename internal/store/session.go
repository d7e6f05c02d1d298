package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// session is a connection of the pool: lib/pq's, with its socket and the statements that are prepared on it.
type session struct {
	driverConn
	socket *deadlineConn
	stmts  map[string]driver.Stmt
}

// driverConn is what lib/pq's connection is to database/sql.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// connector makes sessions.
type connector struct{ *pq.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	s := &session{stmts: map[string]driver.Stmt{}}
	conn, err := c.Connector.Connect(context.WithValue(ctx, socketKey{}, &s.socket))
	if err != nil {
		return nil, err
	}
	s.driverConn = conn.(driverConn)
	return s, nil
}

// errNotSent: the connection was found broken before anything was sent. database/sql then drops it.
var errNotSent = fmt.Errorf("the connection ended while it was idle: %w", driver.ErrBadConn)

// run runs one statement in its own transaction and gives its rows to collect; the values of a row are good until it returns. It is
// errNotSent when the statement certainly did not run, and nil when it certainly did and was committed.
func (s *session) run(query string, args []driver.NamedValue, collect func(row []driver.Value) error) error {
	if !s.socket.quiet() {
		return errNotSent
	}
	for again := false; ; again = true {
		stmt, err := s.prepare(query)
		if err != nil {
			return err
		}
		err = s.rows(stmt, args, collect)
		// A migration can change what a statement returns; Postgres then refuses to run it.
		if again || pq.As(err, pqerror.FeatureNotSupported) == nil {
			return err
		}
		delete(s.stmts, query)
		_ = stmt.Close() // The connection shows what became of it.
	}
}

func (s *session) prepare(query string) (driver.Stmt, error) {
	if stmt := s.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := s.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	s.stmts[query] = stmt
	return stmt, nil
}

// rows reads to the end: only then was the statement's transaction committed. Its context never ends, so that nobody has to watch it:
// that took 10 µs. What bounds the wait is the socket's.
func (s *session) rows(stmt driver.Stmt, args []driver.NamedValue, collect func(row []driver.Value) error) error {
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), args)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := collect(row); err != nil {
			return err
		}
	}
}
