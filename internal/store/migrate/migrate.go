// Package migrate brings a database's schema to the version that this program needs, with
// golang-migrate. It adds a lock with a bounded wait, and sets the version back when Postgres
// refuses a migration.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/postgres"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/store/pgconn"
	"petstore.example/migrations"
)

// ErrLocked: another process is migrating the database, and did not finish within the time to wait.
var ErrLocked = errors.New("another process is migrating the database; try again when it is done")

// ErrNewer: a newer release than this one migrated the database.
var ErrNewer = errors.New("the database is newer than this program")

// ErrNotOwner: the login is not the owner of the tables, nor a member of that role. Before there
// are tables: it may not make any.
var ErrNotOwner = errors.New("only the owner of the tables may migrate them")

// Up applies all pending migrations, each in a transaction of its own. One that Postgres refuses
// takes no effect, and leaves the database at the version before it; one that Postgres ends because
// of a deadlock is applied again. Processes that migrate at the same time wait for each other, up
// to 15 s (ErrLocked). Up stops when ctx ends, but not in the middle of a migration.
func Up(ctx context.Context, databaseURL string) error {
	if err := newMigrator(migrations.FS).up(ctx, databaseURL); err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	return nil
}

// Down reverts the last migrations, steps of them. When fewer have been applied it returns an error
// and changes nothing.
func Down(ctx context.Context, databaseURL string, steps int) error {
	if err := newMigrator(migrations.FS).down(ctx, databaseURL, steps); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

type migrator struct {
	files       fs.FS
	lockWait    time.Duration // for another migrating process
	lockTimeout time.Duration // for a table that others use
}

func newMigrator(files fs.FS) migrator {
	return migrator{files: files, lockWait: 15 * time.Second, lockTimeout: 10 * time.Second}
}

func (g migrator) up(ctx context.Context, databaseURL string) error {
	for again := deadlocks; ; again-- {
		err := g.run(ctx, databaseURL, func(r migration) error {
			return r.attempt(ctx, (*migrate.Migrate).Up, r.before)
		})
		if e := pq.As(err, pqerror.TRDeadlockDetected); e == nil || again == 0 {
			return err
		}
	}
}

// deadlocks is how many Up bears: servers that serve meanwhile may lock the tables in another order
// than a migration.
const deadlocks = 5

func (g migrator) down(ctx context.Context, databaseURL string, steps int) error {
	if steps < 1 {
		return fmt.Errorf("%d steps: want 1 or more", steps)
	}
	return g.run(ctx, databaseURL, func(r migration) error {
		if applied := r.applied(); steps > applied {
			return fmt.Errorf("%d steps: only %d have been applied", steps, applied)
		}
		return r.attempt(ctx, func(m *migrate.Migrate) error { return m.Steps(-steps) }, r.after)
	})
}

// migration is one run over a database that is locked for it.
type migration struct {
	*migrate.Migrate
	steps  []step
	status Status
}

// run calls fn with the database locked against other migrating processes. What Postgres says of a
// statement that ctx ended is an error of ctx.
func (g migrator) run(ctx context.Context, databaseURL string, fn func(migration) error) (err error) {
	defer func() {
		if ended := ctx.Err(); err != nil && ended != nil && !errors.Is(err, ended) {
			err = fmt.Errorf("%w: %w", ended, err)
		}
	}()
	steps, err := readSteps(g.files)
	if err != nil {
		return err
	}
	conn, closeAll, err := connect(ctx, databaseURL, longestMigration)
	if err != nil {
		return err
	}
	defer closeAll()
	if err := checkOwner(ctx, conn); err != nil {
		return err
	}
	if err := g.lock(ctx, conn); err != nil {
		return err
	}
	status, err := readStatus(ctx, conn, steps)
	if err != nil {
		return err
	}
	if err := status.check(steps); err != nil {
		return err
	}
	m, err := g.library(ctx, conn)
	if err != nil {
		return err
	}
	return fn(migration{Migrate: m, steps: steps, status: status})
}

// CheckOwner returns ErrNotOwner for a login that may not migrate the database.
func CheckOwner(ctx context.Context, databaseURL string) error {
	conn, closeAll, err := connect(ctx, databaseURL, longestMigration)
	if err != nil {
		return err
	}
	defer closeAll()
	return checkOwner(ctx, conn)
}

// checkOwner returns ErrNotOwner for a login that may not change the tables that are there, or make
// the first ones.
func checkOwner(ctx context.Context, conn *sql.Conn) error {
	var owns bool
	err := conn.QueryRowContext(ctx, `
		select coalesce((select pg_has_role(relowner, 'usage') from pg_class where oid =
			to_regclass('schema_migrations')),
		                has_schema_privilege(current_schema(), 'create'), false)`).Scan(&owns)
	if err == nil && !owns {
		return ErrNotOwner
	}
	return pgconn.Translate(err)
}

// longestMigration is after which a migration counts as lost, not slow; connectTimeout how long a
// connection is tried.
const longestMigration, connectTimeout = time.Hour, 10 * time.Second

// connect opens a connection that is not in the pool, on which a reply may take as long as
// readTimeout.
func connect(ctx context.Context, databaseURL string, readTimeout time.Duration) (*sql.Conn, func(), error) {
	cfg, err := pgconn.ReadConfig(databaseURL)
	if err != nil {
		return nil, nil, err
	}
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, nil, errBadURL
	}
	connector.Dialer(pgconn.Dialer{ReadTimeout: readTimeout})
	db := sql.OpenDB(connector)
	var conn *sql.Conn
	if err := pgconn.Patiently(ctx, pgconn.Options{OpenTimeout: connectTimeout}, func(ctx context.Context) (err error) {
		conn, err = db.Conn(ctx)
		return err
	}); err != nil {
		_ = db.Close()
		return nil, nil, fmt.Errorf("reach the database: %w", pgconn.Translate(err))
	}
	return conn, func() { _ = conn.Close(); _ = db.Close() }, nil
}

// errBadURL replaces the driver's error, which may quote the address, and with it the password.
var errBadURL = errors.New("the database URL can't be used: check sslmode and the paths of the certificates")

// lock takes the advisory lock that golang-migrate takes again; it ends with the connection. lock
// polls instead of waiting in one statement: the wait is then bounded, and the waiting session
// holds no snapshot, for which create index concurrently in the migrating session would wait.
func (g migrator) lock(ctx context.Context, conn *sql.Conn) error {
	var name, schema string
	if err := conn.QueryRowContext(
		ctx,
		`select current_database(), current_schema()`,
	).Scan(
		&name,
		&schema,
	); err != nil {
		return pgconn.Translate(err)
	}
	id, err := database.GenerateAdvisoryLockId(name, schema, postgres.DefaultMigrationsTable)
	if err != nil {
		return err
	}
	for end := time.Now().Add(g.lockWait); ; {
		var got bool
		if err := conn.QueryRowContext(ctx, `select pg_try_advisory_lock($1)`, id).Scan(&got); err != nil {
			return pgconn.Translate(err)
		}
		if got {
			break
		}
		if time.Now().After(end) {
			return ErrLocked
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	_, err = conn.ExecContext(
		ctx,
		`select set_config('lock_timeout', $1, false)`,
		fmt.Sprintf("%dms", g.lockTimeout.Milliseconds()),
	)
	return pgconn.Translate(err)
}

func (g migrator) library(ctx context.Context, conn *sql.Conn) (*migrate.Migrate, error) {
	files, err := iofs.New(g.files, ".")
	if err != nil {
		return nil, err
	}
	driver, err := postgres.WithConnection(ctx, conn, &postgres.Config{})
	if err != nil {
		return nil, err
	}
	return migrate.NewWithInstance("iofs", files, "postgres", driver)
}

// attempt runs fn. When Postgres refuses a migration, its transaction is rolled back and only the
// dirty flag is left: attempt sets the version to the one that rollback returns for the failed
// target. When the connection broke, nobody knows whether the transaction was committed, and the
// flag stays.
func (r migration) attempt(ctx context.Context, fn func(*migrate.Migrate) error, rollback func(target int) int) error {
	stop := context.AfterFunc(ctx, func() { r.GracefulStop <- true })
	defer stop()
	err := fn(r.Migrate)
	if err == nil || errors.Is(err, migrate.ErrNoChange) {
		return ctx.Err()
	}
	cause := postgresError(err)
	if cause == nil {
		return err
	}
	target, _, versionErr := r.version()
	if versionErr != nil {
		return errors.Join(cause, versionErr)
	}
	back := rollback(target)
	return errors.Join(fmt.Errorf("between %s and %s: %w", r.name(back), r.name(target), cause), r.Force(back))
}

// postgresError returns the error of Postgres about a migration, nil when the failure was something
// else.
func postgresError(err error) error {
	var failed database.Error
	if !errors.As(err, &failed) {
		return nil
	}
	e := pq.As(failed.OrigErr)
	if e == nil {
		return nil
	}
	if failed.Line > 0 {
		return fmt.Errorf("line %d: %w", failed.Line, e)
	}
	return e
}

// version returns the recorded version, database.NilVersion when there is none.
func (r migration) version() (version int, dirty bool, err error) {
	v, dirty, err := r.Version()
	if errors.Is(err, migrate.ErrNilVersion) {
		return database.NilVersion, false, nil
	}
	return int(v), dirty, err
}

func (r migration) position(version int) int {
	return slices.IndexFunc(r.steps, func(s step) bool { return int(s.version) == version })
}

func (r migration) applied() int { return r.position(int(r.status.Version)) + 1 }

func (r migration) before(version int) int {
	if i := r.position(version); i > 0 {
		return int(r.steps[i-1].version)
	}
	return database.NilVersion
}

func (r migration) after(version int) int { return int(r.steps[r.position(version)+1].version) }

func (r migration) name(version int) string {
	if i := r.position(version); i >= 0 {
		return r.steps[i].name
	}
	return "the empty database"
}
