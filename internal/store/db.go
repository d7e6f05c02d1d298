package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

const (
	// apiRole is the role in which the API works. Migrations make it.
	apiRole = "petstore_api"
	// apiTimeout bounds each query or transaction of the API; staffTimeout those of staff, whose reports and locks may
	// take longer. The bound on a single read of a connection is a little longer, so that a read that hangs is not
	// tried again on another connection.
	apiTimeout   = 1100 * time.Millisecond
	staffTimeout = 30 * time.Second
	readSlack    = 100 * time.Millisecond
	// apiIdleTimeout is after which Postgres ends a transaction of the API that has gone silent: the server may be frozen
	// or cut off, and what the transaction locks would stay locked.
	apiIdleTimeout = 3 * time.Second
	maxConns       = 16
	// openTries is how often Open asks for a first sign of life.
	openTries = 3
	// maxLifetime bounds the harm of a connection that the driver left in a bad state.
	maxLifetime = 30 * time.Minute
)

// Options of Open.
type Options struct {
	// AsAPI makes every connection work in the API's role, with short timeouts.
	AsAPI bool
	// MaxConns is the most connections; 0 for 16.
	MaxConns int
	// Timeout bounds each query or transaction; 0 for 1.1 s for the API and 30 s for staff.
	Timeout time.Duration
}

// conn is a pool of connections. It is safe for concurrent use.
type conn struct {
	db      *sqlx.DB
	stmts   statements
	timeout time.Duration
}

// Open connects to the database that a lib/pq URL or connection string names, and checks that it answers.
// The error never holds a password.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	db, err := connectPool(url, o)
	if err != nil {
		return nil, err
	}
	// A busy machine may not make the first connection within the time of a query; a server that is away refuses at once.
	for tries := openTries; ; tries-- {
		err := db.Ping(ctx)
		if err == nil {
			break
		}
		if tries == 1 || ctx.Err() != nil || !errors.Is(err, ErrUnavailable) {
			return nil, errors.Join(err, db.Close())
		}
	}
	return newDB(db), nil
}

func connectPool(url string, o Options) (*conn, error) {
	cfg, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	timeout := staffTimeout
	if o.AsAPI {
		timeout = apiTimeout
		if cfg.Runtime == nil {
			cfg.Runtime = map[string]string{}
		}
		cfg.Runtime["role"] = apiRole
		cfg.Runtime["idle_in_transaction_session_timeout"] = strconv.FormatInt(apiIdleTimeout.Milliseconds(), 10)
		// Left to itself, Postgres plans a page of a catalogue of 10,000 animals and more anew for every request, since it guesses
		// that the page is a tenth of the catalogue: 180 µs in place of 95. Every statement of the API has one good plan.
		cfg.Runtime["plan_cache_mode"] = "force_generic_plan"
	}
	if o.Timeout > 0 {
		timeout = o.Timeout
	}
	if o.AsAPI {
		cfg.Runtime["statement_timeout"] = strconv.FormatInt(timeout.Milliseconds(), 10)
	}
	plain, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, errors.New("the database URL asks for something that can't be had (see sslmode and the certificate's paths)")
	}
	plain.Dialer(deadlineDialer{read: timeout + readSlack})
	conns := o.MaxConns
	if conns == 0 {
		conns = maxConns
	}
	pool := sql.OpenDB(connector{plain})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxLifetime(maxLifetime)
	return &conn{db: sqlx.NewDb(pool, "postgres"), timeout: timeout}, nil
}

// CheckURL tells whether Open can read the URL. The error never holds a password.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

func parseURL(url string) (pq.Config, error) {
	cfg, err := pq.NewConfig(url)
	if err != nil {
		// The driver's error may quote the string, and with it the password.
		return cfg, errors.New("the database URL can't be read: want postgres://user:password@host:5432/name?sslmode=…")
	}
	return cfg, nil
}

// Close closes all connections.
func (d *conn) Close() error {
	return errors.Join(d.stmts.close(), d.db.Close())
}

// bound bounds one query or transaction, or a few reads that belong together, and the wait for a free connection.
func (d *conn) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d.timeout)
}

// Ping returns an error that is ErrUnavailable when the database does not answer.
func (d *conn) Ping(ctx context.Context) error {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	if err := d.db.PingContext(ctx); err != nil {
		return fmt.Errorf("reach the database: %w", translate(err))
	}
	return nil
}

// Stats returns the state of the pool of connections.
func (d *conn) Stats() sql.DBStats { return d.db.Stats() }

// tx runs fn in one transaction, which is committed when fn returns nil and rolled back otherwise.
func (d *conn) tx(ctx context.Context, fn func(*sqlx.Tx) error) (err error) {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	tx, err := d.db.BeginTxx(ctx, nil)
	if err != nil {
		return translateIn(ctx, err)
	}
	defer func() {
		if err != nil {
			// The error that ended the work says more than one of the roll-back.
			_ = tx.Rollback()
		}
	}()
	if err := fn(tx); err != nil {
		return translateIn(ctx, err)
	}
	return translateIn(ctx, tx.Commit())
}
