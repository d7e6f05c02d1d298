// Package migrate brings a database's schema to the version that this program needs, with
// golang-migrate and a driver of its own: a step takes effect wholly or not at all, whatever ends
// it, keeps no request waiting for long, and says for whom it waits. While it runs, other programs
// see who runs it.
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

// ErrNewer: a newer release than this one migrated the database.
var ErrNewer = errors.New("the database is newer than this program")

// ErrNotOwner: the login is not the owner of the tables, nor a member of that role. Before there
// are tables: it may not make any.
var ErrNotOwner = errors.New("only the owner of the tables may migrate them")

// Up applies all pending migrations, each in a transaction of its own if it can be in one. One that
// Postgres refuses, that the program does not survive or that ctx ends takes no effect, and leaves
// the database at the version before it. One that needs a lock which others hold is tried again for
// ten minutes. Of processes that migrate at the same time one waits for the other, as long as that
// takes. say is called with a line about whom it waits for; nil tells nobody.
func Up(ctx context.Context, databaseURL string, say func(line string)) error {
	if err := newMigrator(migrations.FS, say).up(ctx, databaseURL); err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	return nil
}

// Down reverts the last migrations, steps of them. When fewer have been applied it returns an error
// and changes nothing, and so it does while another process migrates (ErrLocked): that changes which
// are the last ones. say is as for Up.
func Down(ctx context.Context, databaseURL string, steps int, say func(line string)) error {
	if err := newMigrator(migrations.FS, say).down(ctx, databaseURL, steps); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

type migrator struct {
	files fs.FS
	steps []step // of the files
	say   func(line string)
	// lockTimeout is how long the locks of a step may be waited for together. Requests wait behind
	// them. Of those the look-up of a key that a server has not seen bears least: 200 ms until it is
	// its turn, 400 ms in all.
	lockTimeout time.Duration
	// pause is the first between two attempts of a step, tryFor for how long there are any.
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

// run calls fn with the database locked against other migrating processes, and how many steps have
// been applied. What Postgres says of a statement that ctx ended is an error of ctx.
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
	// The session ends a moment after its connection. Who looks then should not find that a migration runs.
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

// longestMigration is after which a statement counts as lost, not slow: an index may wait for a dump
// that takes a night. connectTimeout is how long a connection is tried.
const longestMigration, connectTimeout = 24 * time.Hour, 10 * time.Second

// connection is one that is not in a pool, and what opens further ones.
type connection struct {
	*sql.Conn
	db *sql.DB
}

func (c *connection) close() {
	_ = c.Close()
	_ = c.db.Close()
}

// connect opens a connection on which a reply may take as long as readTimeout.
func connect(ctx context.Context, databaseURL string, readTimeout time.Duration) (*connection, error) {
	_, cfg, err := pgconn.ReadConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	if len(cfg.Multi) == 0 {
		cfg.TargetSessionAttrs = pq.TargetSessionAttrsAny // connectToWrite looks
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

// connectToWrite is connect for a session that takes writes. Behind a pooler the first one may be
// left over from a standby, so there is a second try.
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

// lock names the session and takes the advisory lock, which ends with the connection. While another
// session has it lock waits, or returns ErrLocked. It polls instead of waiting in one statement: the
// session then holds no snapshot, for which create index concurrently in the other one would wait.
func (g migrator) lock(ctx context.Context, conn *sql.Conn, waits bool) error {
	host, _ := os.Hostname() // It is left empty.
	name := pq.QuoteLiteral(application(host, time.Now()))
	// A limit that somebody set for requests is none for migrations.
	_, err := conn.ExecContext(ctx, `set statement_timeout = 0; set lock_timeout = 0;
		set idle_in_transaction_session_timeout = 0; set application_name = `+name)
	if err != nil {
		return pgconn.Translate(err)
	}
	// The session of a program that was killed ends soon, also in the middle of a statement. Postgres
	// refuses this where its machine can't tell.
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

// lockPoll is between two looks at the lock.
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
