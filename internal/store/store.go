package store

import (
	"context"
	"database/sql"
	"iter"

	"github.com/lib/pq"

	"petstore.example/internal/store/admin"
	"petstore.example/internal/store/billing"
	"petstore.example/internal/store/catalog"
	"petstore.example/internal/store/counters"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/store/undo"
	"petstore.example/internal/store/webhooks"
)

// DB is the database, with a member for each kind of data. It is safe for concurrent use.
type DB struct {
	pg *pgconn.DB

	tenancy.Tenancy
	pricing.Pricing
	catalog.Catalog
	billing.Billing
	admin.Admin
	webhooks.Webhooks
	Audit    trail.Audit
	Undos    undo.Undos
	Counters counters.Store
	Cluster  counters.Terms
}

// Options are the options of Open.
type Options = pgconn.Options

// Unsampled is pgconn.Unsampled.
func Unsampled(ctx context.Context) context.Context { return pgconn.Unsampled(ctx) }

// ErrUnavailable is pgconn.ErrUnavailable.
var ErrUnavailable = pgconn.ErrUnavailable

// ErrOutcomeUnknown is pgconn.ErrOutcomeUnknown.
var ErrOutcomeUnknown = pgconn.ErrOutcomeUnknown

// IsServerError reports whether Postgres reported the error.
func IsServerError(err error) bool { return pgconn.IsServerError(err) }

// IsNotMigrated reports whether the error means that the database was not migrated.
func IsNotMigrated(err error) bool { return pgconn.IsNotMigrated(err) }

// IsForbidden reports whether the login lacks a right that the statement, or the connection itself,
// needs.
func IsForbidden(err error) bool { return pgconn.IsForbidden(err) }

// IsPasswordRefused reports whether the login's password is wrong, expired or missing. Postgres
// does not say which.
func IsPasswordRefused(err error) bool { return pgconn.IsPasswordRefused(err) }

// Target is where a URL leads.
type Target = pgconn.Target

// ReadTarget returns where a URL leads, including what its Postgres service and the environment
// add. The error never holds a password.
func ReadTarget(url string) (Target, error) { return pgconn.ReadTarget(url) }

// ServiceFile is libpq's file of services.
func ServiceFile() string { return pgconn.ServiceFile() }

// PassFile is the file of passwords.
func PassFile() string { return pgconn.PassFile() }

// Open connects to the database, as pgconn.Open does.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	c, err := pgconn.Open(ctx, url, o)
	if err != nil {
		return nil, err
	}
	return newDB(c), nil
}

func newDB(c *pgconn.DB) *DB {
	return &DB{
		pg:       c,
		Tenancy:  tenancy.New(c),
		Pricing:  pricing.New(c),
		Catalog:  catalog.New(c),
		Billing:  billing.New(c),
		Admin:    admin.New(c),
		Webhooks: webhooks.New(c),
		Audit:    trail.New(c),
		Undos:    undo.New(c, tenancy.Undoers, pricing.Undoers, billing.Undoers),
		Counters: counters.New(c),
		Cluster:  counters.NewTerms(c),
	}
}

// CheckURL reports whether Open can read the URL. The error never holds a password.
func CheckURL(url string) error { return pgconn.CheckURL(url) }

// Close closes all connections.
func (d *DB) Close() error { return d.pg.Close() }

// Ping returns an error that is ErrUnavailable if the database does not answer.
func (d *DB) Ping(ctx context.Context) error { return d.pg.Ping(ctx) }

// PingWrites is Ping, but a standby is an error too.
func (d *DB) PingWrites(ctx context.Context) error { return d.pg.PingWrites(ctx) }

// CurrentURL returns Open's connection string. If it has several hosts, only the last used one is
// left.
func (d *DB) CurrentURL() string { return d.pg.CurrentURL() }

// Notify sends an empty notification to the channel.
func (d *DB) Notify(ctx context.Context, channel string) (err error) {
	defer pgconn.Wrap(&err, "notify")
	// The semicolon keeps the statement from being prepared, which fails where clients share a
	// session.
	_, err = d.pg.Exec(ctx, `notify `+pq.QuoteIdentifier(channel)+`;`)
	return err
}

// Stats returns the state of the pool of connections.
func (d *DB) Stats() sql.DBStats { return d.pg.Stats() }

// Collect returns the items of a list that is known to be short.
func Collect[T any](list iter.Seq2[T, error]) ([]T, error) {
	items := []T{}
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
