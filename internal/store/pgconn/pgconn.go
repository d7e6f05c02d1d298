// Package pgconn connects to Postgres and runs statements.
//
// DB and Tx have the same three methods for statements. A statement with arguments is prepared once
// on each connection, so later uses take one round trip. Each call on DB, and each transaction, has
// a time limit. It is run a second time if a migration has made its prepared statements out of
// date. Its error is ErrUnavailable if trying again later helps.
//
// database/sql repeats a statement outside of a transaction when its connection breaks. So a write
// that must not happen twice runs in a transaction, or by Direct. A customer's change is made by
// Write or WriteTx, which have a deadline.
package pgconn

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// The group roles, which migrations create. The API works in APIRole, which is also the application
// name of its connections.
const (
	APIRole     = "petstore_api"
	SupportRole = "petstore_support"
	BillingRole = "petstore_billing"
)

const (
	// StaffTimeout bounds each call of staff, whose reports and locks take longer than the API's.
	StaffTimeout = 30 * time.Second
	apiTimeout   = 1100 * time.Millisecond
	// readSlack is how much longer a read from a connection may last than a call. Otherwise
	// database/sql would repeat a hanging read on another connection.
	readSlack = 100 * time.Millisecond
	// apiIdleTimeout is the time after which Postgres ends an idle transaction of the API; twice
	// Timeout if that is longer. The server may be paused or cut off, and its locks must not stay.
	apiIdleTimeout  = 3 * time.Second
	defaultMaxConns = 16
	// maxLifetime limits the harm of a connection that the driver left in a bad state.
	maxLifetime = 30 * time.Minute
	// openPause is the pause between two pings of Open.
	openPause = 100 * time.Millisecond
)

// Options are the options of Open.
type Options struct {
	// AsAPI makes every connection work in the API's role, with short timeouts.
	AsAPI bool
	// MaxConns is the maximum number of connections; 0 for 16.
	MaxConns int
	// LocalCommit makes commits of the API wait for the disk, but not for a standby. A failover may
	// lose them.
	LocalCommit bool
	// Timeout bounds each call; 0 for 1.1 s for the API and 30 s for staff.
	Timeout time.Duration
	// OpenTimeout is how long Open keeps pinging a database that does not answer; 0 for 3 s.
	OpenTimeout time.Duration
	// Waiting is called with the error of each ping that Open repeats. It may be nil.
	Waiting func(error)
	// Observe is called after each call with its duration, and its error if it failed or was
	// canceled. It may be nil.
	Observe func(took time.Duration, err error)
	// Clock says what is in force now, and when a change made now takes effect; nil for the
	// database's clock.
	Clock func() time.Time
	// Earliest translates a time of this machine's clock to the earliest time that the database's
	// clock may show then, for Write; nil if both are one clock.
	Earliest func(time.Time) time.Time
	// Abandoned reports whether the client of a call is gone. Then Write and WriteTx do not begin.
	// nil means never.
	Abandoned func(context.Context) bool
	// Trace is called with the statement of a call, or "transaction", when it begins. It returns
	// the call's context, and a function to call with its error at its end, nil for none. It may be
	// nil.
	Trace func(ctx context.Context, statement string) (context.Context, func(error))
}

// DB is a pool of connections. It is safe for concurrent use.
type DB struct {
	pool    *sqlx.DB
	timeout time.Duration
	clock   func() time.Time
	observe func(took time.Duration, err error)
	tracer  tracer
	// api is Options.AsAPI, earliest Options.Earliest.
	api      bool
	earliest func(time.Time) time.Time
	// abandoned is Options.Abandoned, not nil.
	abandoned func(context.Context) bool
	// url is the connection string. hosts is nil if it has one host.
	url    string
	hosts  *hosts
	opener *opener
	// gate is nil for staff, and for a small pool.
	gate *gate
	// within is the transaction that all statements are part of, or nil.
	within *Tx
}

// Now is the time by Options.Clock as an argument of a statement. Null stands for the database's
// clock.
func (d *DB) Now() sql.NullTime {
	if d.clock == nil {
		return sql.NullTime{}
	}
	return sql.NullTime{Time: d.clock(), Valid: true}
}

// JustNow is Now for a statement that reads. While a clock stands still, changes follow each other
// by a microsecond; JustNow is late enough for all of them to count.
func (d *DB) JustNow() sql.NullTime {
	now := d.Now()
	now.Time = now.Time.Add(time.Millisecond)
	return now
}

// Open connects to the database that a lib/pq URL or connection string names, and pings it. Errors
// never hold a password.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	db, err := newDB(url, o)
	if err != nil {
		return nil, err
	}
	pinging := *db
	if o.OpenTimeout > 0 { // If an attempt takes longer, the next ping gets its connection.
		pinging.timeout = min(db.timeout, apiTimeout)
	}
	if err := Patiently(ctx, o, pinging.Ping); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Patiently calls connect, again and again until Options.OpenTimeout while it takes too long: on a
// busy machine the first connection can take longer than a call may. A server that is down refuses
// at once, and is not tried again.
func Patiently(ctx context.Context, o Options, connect func(context.Context) error) error {
	for began := time.Now(); ; {
		err := connect(ctx)
		var late net.Error
		waits := errors.As(err, &late) && late.Timeout() || errors.Is(err, driver.ErrBadConn)
		if !waits || time.Since(began) >= cmp.Or(o.OpenTimeout, 3*connectTimeout) {
			return err
		}
		if o.Waiting != nil {
			o.Waiting(err)
		}
		select { // A broken connection fails at once.
		case <-ctx.Done():
			return err
		case <-time.After(openPause):
		}
	}
}

func newDB(url string, o Options) (*DB, error) {
	url, cfg, err := ReadConfig(url)
	if err != nil {
		return nil, err
	}
	timeout := StaffTimeout
	if o.AsAPI {
		timeout = apiTimeout
	}
	timeout = cmp.Or(o.Timeout, timeout)
	wants := wanted(cfg)
	if wants != "" && len(cfg.Multi) == 0 { // connector.begin checks the session.
		cfg.TargetSessionAttrs = pq.TargetSessionAttrsAny
		url += anyState
	}
	dialer := Dialer{ReadTimeout: timeout + readSlack, opening: openTimeout}
	if len(cfg.Multi) > 0 {
		dialer.opening = dialer.ReadTimeout // Then the next host is tried.
	}
	postgres, err := NewConnector(cfg, dialer)
	if err != nil {
		return nil, err
	}
	c := &connector{Connector: postgres, database: databaseOf(cfg), login: cfg.User, wants: wants}
	if c.hosts, err = newHosts(cfg, dialer); err != nil {
		return nil, err
	}
	if o.AsAPI {
		c.settings = apiSettings(timeout)
		if o.LocalCommit {
			c.settings += `set synchronous_commit = local;`
		}
	}
	conns := cmp.Or(o.MaxConns, defaultMaxConns)
	pool := c.newPool(net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))), conns)
	if o.Abandoned == nil {
		o.Abandoned = func(context.Context) bool { return false }
	}
	var g *gate
	if o.AsAPI && conns > narrowest {
		g = &gate{most: conns, limit: conns}
	}
	return &DB{
		gate:      g,
		pool:      sqlx.NewDb(pool, "postgres"),
		timeout:   timeout,
		clock:     o.Clock,
		observe:   o.Observe,
		tracer:    o.Trace,
		api:       o.AsAPI,
		earliest:  o.Earliest,
		abandoned: o.Abandoned,
		url:       url,
		hosts:     c.hosts,
		opener:    c.opener,
	}, nil
}

// newPool returns a pool of that many connections. name is the URL's host if it has one.
func (c *connector) newPool(name string, conns int) *sql.DB {
	one := &host{Connector: c.Connector, name: name}
	all := []*host{one}
	c.opener = newOpener(func(ctx context.Context) (*session, error) { return c.open(ctx, one) })
	if c.hosts != nil {
		c.hosts.open, c.opener.open, all = c.open, c.hosts.connect, c.hosts.all
	}
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxLifetime(maxLifetime)
	if c.wants == "" {
		return pool
	}
	c.opener.leave = func() {
		for _, one := range all {
			one.left.Add(1)
		}
	}
	c.opener.drop = func() {
		pool.SetMaxIdleConns(-1)
		pool.SetMaxIdleConns(conns)
	}
	return pool
}

// CurrentURL returns Open's connection string. Of several hosts, it has only the last used one.
func (d *DB) CurrentURL() string {
	if d.hosts != nil {
		if one, _ := d.hosts.current(); one != nil {
			return d.url + one.setting
		}
	}
	return d.url
}

// apiSettings returns the statements that begin a session of the API. They are not parameters of
// the connection, because a pooler would refuse or ignore those.
func apiSettings(timeout time.Duration) string {
	return fmt.Sprintf(`
		set application_name = '%s';
		set role %[1]s;
		set statement_timeout = %d;
		set idle_in_transaction_session_timeout = %d;
		-- A login may have set these for its later sessions.
		set default_transaction_isolation = 'read committed';
		set row_security = on;
		set lock_timeout = 0;
		-- By default Postgres plans a page of 10,000 animals or more anew for every request, because it estimates
		-- that the page
		-- is a tenth of the table: 180 µs in place of 95. Every statement of the API has one good plan: look-ups by
		-- index, in nested
		-- loops. A statement that is planned while its tables are small must not read them whole when they have grown.
		set plan_cache_mode = force_generic_plan;
		set enable_seqscan = off;
		set enable_hashjoin = off;
		set enable_mergejoin = off;
		-- A small table is read whole all the same, and then the switches above make a cost of 10^10 of it. With
		-- jit, which is on by
		-- default, Postgres compiles every such statement: 0.1 to 1 s for one of 1 ms, so leases expire before they
		-- are renewed.
		set jit = off;`,
		APIRole, timeout.Milliseconds(), max(apiIdleTimeout, 2*timeout).Milliseconds())
}

// CheckURL reports whether Open can read the URL. The error never holds a password.
func CheckURL(url string) error {
	_, _, err := ReadConfig(url)
	return err
}

// Close closes all connections.
func (d *DB) Close() error { return d.pool.Close() }

// Stats returns the state of the pool.
func (d *DB) Stats() sql.DBStats { return d.pool.Stats() }

// PingWrites returns an error that is ErrUnavailable if the database does not answer, or is
// read-only.
func (d *DB) PingWrites(ctx context.Context) error {
	var state string
	found := d.opener.found.Load()
	err := d.Get(ctx, &state, stateQuery+";") // The semicolon keeps it from being prepared.
	if err == nil && state != "" {
		err = unavailableError{readOnlyError(state)}
		d.opener.readOnly(found, readOnlyError(state), false)
	}
	return err
}

// Ping returns an error that is ErrUnavailable if the database does not answer. If no session of
// the API can begin, the error is a NeverMigratedError or a NotMemberError.
func (d *DB) Ping(ctx context.Context) error {
	err := d.bounded(ctx, reads, d.pool.PingContext)
	if err == nil || errors.As(err, &NeverMigratedError{}) || errors.As(err, &NotMemberError{}) {
		return err
	}
	return fmt.Errorf("reach the database: %w", err)
}
