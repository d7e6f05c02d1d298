package pgconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

// connector makes sessions.
type connector struct {
	*pq.Connector
	opener *opener
	// hosts is nil if the URL has one host.
	hosts           *hosts
	database, login string
	// wants is the kind of session that the URL wants: pq.TargetSessionAttrsAny, …ReadWrite or
	// …Primary; "" for a standby, which is not checked.
	wants pq.TargetSessionAttrs
	// settings are statements that begin each session of the API; "" for other sessions.
	settings string
	// generation counts how often a statement was found out of date. Statements of earlier
	// generations are prepared again.
	generation atomic.Int64
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	s, err := c.opener.get(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close implements io.Closer: database/sql calls it when the pool is closed.
func (c *connector) Close() error {
	c.opener.close()
	return nil
}

// open opens a session on one host.
func (c *connector) open(ctx context.Context, on *host) (*session, error) {
	s := &session{generation: &c.generation, stmts: map[string]preparedStmt{}, host: on, left: on.left.Load()}
	conn, err := on.Connect(context.WithValue(ctx, socketKey{}, &s.socket))
	if err != nil {
		return nil, c.explain(err)
	}
	s.driverConn = conn.(driverConn)
	if err := c.begin(ctx, s); err != nil {
		_ = s.Close()
		return nil, err
	}
	s.socket.opening = time.Time{}
	return s, nil
}

// begin starts a session with settings. It sets whether the session is read-only, and the timeline
// if there are several hosts. It refuses a session that is not what the URL wants.
func (c *connector) begin(ctx context.Context, s *session) error {
	query := c.settings + stateQuery
	if c.hosts != nil {
		s.socket.hung = s.host.hung
		query += timelineColumn
	}
	rows, err := s.driverConn.QueryContext(ctx, query, nil)
	if err != nil {
		if c.settings != "" && pq.As(err, pqerror.InvalidParameterValue) != nil { // The role does not exist.
			return NeverMigratedError{c.database}
		}
		return c.explain(err)
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 2)
	if err := rows.Next(row); err != nil {
		return err
	}
	s.timeline, _ = row[1].(int64)
	if why, _ := row[0].(string); why != "" && c.wants != "" {
		s.readOnly, s.refuses = readOnlyError(why), why == "standby" && c.settings != ""
		if c.wants == pq.TargetSessionAttrsReadWrite || c.wants == pq.TargetSessionAttrsPrimary && why == "standby" {
			return unavailableError{fmt.Errorf("%s: %w", s.host.name, s.readOnly)}
		}
	}
	return nil
}

// explain says what to do if the login may not connect as the API, or not at all.
func (c *connector) explain(err error) error {
	if c.settings != "" && pq.As(err, pqerror.InsufficientPrivilege) != nil {
		return NotMemberError{c.login}
	}
	return err
}

// session is a connection of the pool: lib/pq's, with its socket and its prepared statements.
type session struct {
	driverConn
	socket     *deadlineConn
	generation *atomic.Int64
	stmts      map[string]preparedStmt
	host       *host
	// left is host.left, and timeline the host's timeline, when the session began.
	left, timeline int64
	// readOnly is the reason why the session was read-only when it began, nil if it was writable.
	readOnly error
	// refuses says that the session is the API's and on a standby, which may lack changes that
	// others have seen.
	refuses bool
}

// ofNow reports whether the host was not left since the session began.
func (s *session) ofNow() bool { return s.left == s.host.left.Load() }

// IsValid implements driver.Validator.
func (s *session) IsValid() bool { return s.ofNow() && s.driverConn.IsValid() }

// Close implements driver.Conn. Behind a pooler the next client would get the backend of a
// read-only session, so Close ends that backend too.
func (s *session) Close() error {
	ends := (s.readOnly != nil || s.host.of == nil && !s.ofNow()) && s.driverConn.IsValid()
	if ends {
		s.socket.opening = time.Now().Add(replyLimits[cancelRequest])
		_, _ = s.driverConn.ExecContext(context.Background(), EndBackend, nil)
	}
	err := s.driverConn.Close()
	if ends { // Close fails if the backend has ended.
		err = nil
	}
	return err
}

// BeginTx implements driver.ConnBeginTx. lib/pq would begin READ WRITE, whatever Postgres is set
// to.
func (s *session) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if o != (driver.TxOptions{}) {
		return nil, errors.New("a transaction has the options of its session")
	}
	// Until these rows are closed, lib/pq cancels what runs when ctx ends.
	rows, err := s.driverConn.QueryContext(ctx, "begin", nil)
	if err != nil {
		return nil, err
	}
	return transaction{s.driverConn.(driver.Tx), rows}, nil
}

type transaction struct {
	driver.Tx
	watch driver.Rows
}

func (t transaction) Commit() error {
	defer func() { _ = t.watch.Close() }()
	return t.Tx.Commit()
}

func (t transaction) Rollback() error {
	defer func() { _ = t.watch.Close() }()
	return t.Tx.Rollback()
}

// ResetSession implements driver.SessionResetter.
func (s *session) ResetSession(ctx context.Context) error {
	if !s.ofNow() {
		return driver.ErrBadConn
	}
	return s.driverConn.ResetSession(ctx)
}

// driverConn is the interface of lib/pq's connection towards database/sql.
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

// driverStmt is the interface of lib/pq's statement towards database/sql.
type driverStmt interface {
	driver.Stmt
	driver.StmtQueryContext
	driver.StmtExecContext
}

type preparedStmt struct {
	driverStmt
	generation int64
}

// QueryContext implements driver.QueryerContext.
func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if strings.Contains(query, ";") { // perhaps several statements, which can't be prepared
		return s.driverConn.QueryContext(ctx, query, args)
	}
	p, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := p.QueryContext(ctx, args)
	s.noteOutOfDate(p, err)
	return rows, err
}

// ExecContext implements driver.ExecerContext.
func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if strings.Contains(query, ";") {
		return s.driverConn.ExecContext(ctx, query, args)
	}
	p, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := p.ExecContext(ctx, args)
	s.noteOutOfDate(p, err)
	return result, err
}

func (s *session) prepare(ctx context.Context, query string) (preparedStmt, error) {
	if s.refuses {
		return preparedStmt{}, unavailableError{s.readOnly}
	}
	generation := s.generation.Load()
	p, ok := s.stmts[query]
	if ok && p.generation == generation {
		return p, nil
	}
	if ok {
		delete(s.stmts, query)
		if err := p.Close(); err != nil {
			return preparedStmt{}, err
		}
	}
	stmt, err := s.PrepareContext(ctx, query)
	if err != nil {
		return preparedStmt{}, err
	}
	p = preparedStmt{stmt.(driverStmt), generation}
	s.stmts[query] = p
	return p, nil
}

// noteOutOfDate begins a new generation, unless one has begun since p was prepared.
func (s *session) noteOutOfDate(p preparedStmt, err error) {
	if isOutOfDate(err) {
		s.generation.CompareAndSwap(p.generation, p.generation+1)
	}
}

// errNotSent: the connection was found broken before anything was sent. database/sql then drops it.
var errNotSent = fmt.Errorf("the connection ended while it was idle: %w", driver.ErrBadConn)

// run runs one statement for Direct. It returns errNotSent if the statement certainly did not run,
// and nil if it certainly ran and was committed. Its context never ends, because watching one takes
// 10 µs; the socket limits the wait.
func (s *session) run(query string, args []driver.NamedValue, collect func(row []driver.Value) error) error {
	if !s.socket.quiet() {
		return errNotSent
	}
	rows, err := s.QueryContext(context.Background(), query, args)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, len(rows.Columns()))
	// Read to the end: only then was the statement's transaction committed.
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
