// Package migrate brings a database's schema to the version that this program needs. It uses
// golang-migrate with a driver of its own: a step takes effect wholly or not at all, however it
// ends, keeps no request waiting for long, and says whom it waits for. While it runs, other
// programs see who runs it.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
	"petstore.example/migrations"
)

// ErrLocked: another process is migrating the database.
var ErrLocked = errors.New("a migration runs")

// ErrNewer: the database was migrated by a newer release than this one.
var ErrNewer = errors.New("the database is newer than this program")

// ErrNotOwner: the login is neither the owner of the tables nor a member of that role. If there are
// no tables yet, it may not make any.
var ErrNotOwner = errors.New("only the owner of the tables may migrate them")

// Up applies all pending migrations, each in a transaction of its own if possible. A migration
// takes no effect if Postgres refuses it, the program dies or ctx ends; the database stays at the
// version before it. A migration that needs a lock held by others is tried again for ten minutes.
// Processes that migrate at the same time wait for each other, as long as that takes. say is called
// with a line about whom it waits for; it may be nil.
func Up(ctx context.Context, databaseURL string, say func(line string)) error {
	if err := newMigrator(migrations.FS, say).up(ctx, databaseURL); err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	return nil
}

// Down reverts the last migrations; steps is their number. If fewer have been applied, or another
// process migrates (ErrLocked), it returns an error and changes nothing: the other process changes
// which are the last. say is as for Up.
func Down(ctx context.Context, databaseURL string, steps int, say func(line string)) error {
	if err := newMigrator(migrations.FS, say).down(ctx, databaseURL, steps); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

type migrator struct {
	files fs.FS
	steps []step // the steps in files
	say   func(line string)
	// lockTimeout is how long a step may wait for all its locks together. Requests wait behind
	// them. The least patient is the look-up of a key that a server has not seen: 200 ms until its
	// turn, 400 ms in all.
	lockTimeout time.Duration
	// pause is the first pause between two attempts of a step. tryFor is how long it is tried.
	pause, tryFor time.Duration
}

func newMigrator(files fs.FS, say func(line string)) migrator {
	if say == nil {
		say = func(string) {}
	}
	return migrator{
		files: files, steps: stepsOf(files), say: say,
		lockTimeout: 150 * time.Millisecond, pause: time.Second, tryFor: 10 * time.Minute,
	}
}

func (g migrator) up(ctx context.Context, databaseURL string) error {
	return g.run(ctx, databaseURL, true, func(m *migrate.Migrate, _ int) error {
		if err := m.Up(); !errors.Is(err, migrate.ErrNoChange) {
			return err
		}
		return nil
	})
}

func (g migrator) down(ctx context.Context, databaseURL string, steps int) error {
	if steps < 1 {
		return fmt.Errorf("%d steps: want 1 or more", steps)
	}
	return g.run(ctx, databaseURL, false, func(m *migrate.Migrate, applied int) error {
		if steps > applied {
			return fmt.Errorf("%d steps: only %d have been applied", steps, applied)
		}
		return m.Steps(-steps)
	})
}

// run calls fn with the database locked against other migrating processes, and with the number of
// applied steps. If ctx ended a statement, the error is ctx's, not Postgres's.
func (g migrator) run(
	ctx context.Context,
	databaseURL string,
	waits bool,
	fn func(m *migrate.Migrate, applied int) error,
) (err error) {
	defer func() {
		if ended := ctx.Err(); err != nil && ended != nil && !errors.Is(err, ended) {
			err = fmt.Errorf("%w: %w", ended, err)
		}
	}()
	conn, err := connectToWrite(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.close()
	if err := checkOwner(ctx, conn.Conn); err != nil {
		return err
	}
	if err := g.lock(ctx, conn.Conn, waits); err != nil {
		return err
	}
	// The session ends a moment after its connection. Unlock first, so that nobody still finds a
	// running migration.
	defer finally(ctx, conn.Conn, `select pg_advisory_unlock_all()`)
	status, err := g.readStatus(ctx, conn.Conn)
	if err != nil {
		return err
	}
	if err := status.checkNotNewer(); err != nil {
		return err
	}
	driver, err := g.newDriver(ctx, conn)
	if err != nil {
		return err
	}
	files, err := iofs.New(g.files, ".")
	if err != nil {
		return err
	}
	m, err := migrate.NewWithInstance("iofs", files, "petstore", driver)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()
	return errors.Join(fn(m, len(g.steps)-len(status.Pending)), ctx.Err())
}

// CheckOwner returns ErrNotOwner for a login that may not migrate the database.
func CheckOwner(ctx context.Context, databaseURL string) error {
	conn, err := connect(ctx, databaseURL, longestMigration)
	if err != nil {
		return err
	}
	defer conn.close()
	return checkOwner(ctx, conn.Conn)
}

// checkOwner returns ErrNotOwner for a login that may not change the existing tables, or make the
// first ones.
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

// longestMigration is the time after which a statement counts as lost, not slow: an index may wait
// for a dump that takes a night. connectTimeout is how long a connection is tried.
const longestMigration, connectTimeout = 24 * time.Hour, 10 * time.Second

// connection is a connection of its own, and the sql.DB that opens further ones.
type connection struct {
	*sql.Conn
	db *sql.DB
}

func (c *connection) close() {
	_ = c.Close()
	_ = c.db.Close()
}

// connect opens a connection whose replies may take up to readTimeout.
func connect(ctx context.Context, databaseURL string, readTimeout time.Duration) (*connection, error) {
	_, cfg, err := pgconn.ReadConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	if len(cfg.Multi) == 0 {
		cfg.TargetSessionAttrs = pq.TargetSessionAttrsAny // connectToWrite checks the session
	}
	connector, err := pgconn.NewConnector(cfg, pgconn.Dialer{ReadTimeout: readTimeout})
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	var conn *sql.Conn
	if err := pgconn.Patiently(ctx, pgconn.Options{OpenTimeout: connectTimeout}, func(ctx context.Context) (err error) {
		conn, err = db.Conn(ctx)
		return err
	}); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("reach the database: %w", pgconn.Translate(err))
	}
	return &connection{conn, db}, nil
}

// connectToWrite is connect for a writable session. Behind a pooler the first session may be left
// over from a standby, so it tries twice.
func connectToWrite(ctx context.Context, databaseURL string) (*connection, error) {
	for again := true; ; again = false {
		conn, err := connect(ctx, databaseURL, longestMigration)
		if err != nil {
			return nil, err
		}
		if err = pgconn.CheckWrites(ctx, conn.Conn); err == nil {
			return conn, nil
		}
		conn.close()
		if !again || pgconn.Reason(err) != pgconn.ReadOnly {
			return nil, err
		}
	}
}

// lock names the session and takes the advisory lock, which ends with the connection. If another
// session holds it, lock waits or returns ErrLocked. It polls instead of waiting in one statement:
// a waiting session would hold a snapshot, and so block a create index concurrently in the session
// that has the lock.
func (g migrator) lock(ctx context.Context, conn *sql.Conn, waits bool) error {
	host, _ := os.Hostname() // On an error host stays empty.
	name := pq.QuoteLiteral(application(host, time.Now()))
	// A limit that was set for requests must not apply to migrations.
	_, err := conn.ExecContext(ctx, `set statement_timeout = 0; set lock_timeout = 0;
		set idle_in_transaction_session_timeout = 0; set application_name = `+name)
	if err != nil {
		return pgconn.Translate(err)
	}
	// The session of a killed program then ends soon, even in the middle of a statement. Postgres
	// refuses this setting on systems that can't detect a closed connection.
	_, _ = conn.ExecContext(ctx, `set client_connection_check_interval = '1s'`)
	id, err := lockID(ctx, conn)
	if err != nil {
		return err
	}
	for told := ""; ; {
		var got bool
		if err := conn.QueryRowContext(ctx, `select pg_try_advisory_lock($1)`, id).Scan(&got); err != nil {
			return pgconn.Translate(err)
		}
		if got {
			return nil
		}
		by, err := holder(ctx, conn)
		if err != nil {
			return err
		}
		if by != nil && !waits {
			return fmt.Errorf("%w: %v; %s", ErrLocked, by, by.End())
		}
		if by != nil && by.String() != told {
			told = by.String()
			g.say(fmt.Sprintf("waiting: a migration runs: %v; %s", by, by.End()))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// lockPoll is the time between two looks at the lock.
const lockPoll = 100 * time.Millisecond

// nameOf returns the name of the step to a version.
func (g migrator) nameOf(version int) string {
	for _, s := range g.steps {
		if int(s.version) == version {
			return s.name
		}
	}
	return "the empty database"
}
