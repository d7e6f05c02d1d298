package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/source"
	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
	"petstore.example/migrations"
)

// Status says how far a database has been migrated.
type Status struct {
	Version uint     // the last migration applied, 0 for an empty database
	Latest  uint     // the last migration that this program has
	Pending []string // the migrations to apply, by file name without ".up.sql"
	Running *Session // who migrates the database now, nil for nobody
}

// GetStatus reads how far the database has been migrated. It changes nothing.
func GetStatus(ctx context.Context, databaseURL string) (Status, error) {
	status, err := newMigrator(migrations.FS, nil).status(ctx, databaseURL, "")
	if err != nil {
		return Status{}, fmt.Errorf("migrate status: %w", err)
	}
	return status, nil
}

// status reads the status with the rights of the role, or with those of the login if it is "".
func (g migrator) status(ctx context.Context, databaseURL, role string) (Status, error) {
	conn, err := connect(ctx, databaseURL, pgconn.StaffTimeout)
	if err != nil {
		return Status{}, err
	}
	defer conn.close()
	if role != "" {
		if _, err := conn.ExecContext(ctx, `set role `+pq.QuoteIdentifier(role)); err != nil {
			return Status{}, pgconn.Translate(err)
		}
	}
	return g.readStatus(ctx, conn.Conn)
}

// Check returns an error that says what to do if a server of this program cannot use the schema:
// the database was never migrated (pgconn.NeverMigratedError), or lacks migrations (BehindError).
// If a newer release migrated the database, the error is ErrNewer, and a server may or may not
// work.
func Check(ctx context.Context, databaseURL string) error {
	status, err := newMigrator(migrations.FS, nil).status(ctx, databaseURL, pgconn.APIRole)
	switch {
	case err != nil:
		return fmt.Errorf("check the schema: %w", err)
	case len(status.Pending) == 0:
		return status.checkNotNewer()
	case status.Version == 0 && status.Running == nil:
		return pgconn.NewNeverMigratedError(databaseURL)
	}
	return BehindError{status}
}

// BehindError says that the database lacks migrations, and whether they are being applied.
type BehindError struct{ Status Status }

func (e BehindError) Error() string {
	do := "run: petstorectl migrate up"
	if e.Status.Running != nil {
		do = fmt.Sprintf("a migration runs: %v", e.Status.Running)
	}
	return fmt.Sprintf("the database is at version %d of its schema and this program needs %d; %s",
		e.Status.Version, e.Status.Latest, do)
}

// Await waits while the schema lacks something that this program needs and a migration runs.
// Meanwhile it calls waiting with the migrating session, again and again. It reports whether the
// schema is complete now. An error is about the connection.
func Await(ctx context.Context, databaseURL string, waiting func(Session)) (ready bool, err error) {
	conn, err := connect(ctx, databaseURL, pgconn.StaffTimeout)
	if err != nil {
		return false, err
	}
	defer conn.close()
	g := newMigrator(migrations.FS, nil)
	for {
		// Before the first migration, neither the role nor a table that it may read exists.
		_, _ = conn.ExecContext(ctx, `set role `+pgconn.APIRole)
		by, err := holder(ctx, conn.Conn) // read before the version, which the holder may raise meanwhile
		if err != nil {
			return false, err
		}
		status, err := g.readStatus(ctx, conn.Conn)
		if err == nil && len(status.Pending) == 0 {
			return true, nil
		}
		if by == nil {
			return false, nil
		}
		waiting(*by)
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(5 * lockPoll):
		}
	}
}

// step is one migration.
type step struct {
	version uint
	name    string
}

// stepsOf lists the migrations in order.
func stepsOf(files fs.FS) []step {
	names, _ := fs.Glob(files, "*.up.sql") // Only a bad pattern is an error.
	var steps []step
	for _, name := range names {
		if m, err := source.DefaultParse(name); err == nil { // golang-migrate also leaves out files with other names.
			steps = append(steps, step{version: m.Version, name: strings.TrimSuffix(name, ".up.sql")})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return int(a.version) - int(b.version) })
	return steps
}

func (g migrator) readStatus(ctx context.Context, conn *sql.Conn) (Status, error) {
	var version uint
	var begun bool
	err := conn.QueryRowContext(ctx, `select to_regclass('schema_migrations') is not null`).Scan(&begun)
	if err == nil && begun {
		err = conn.QueryRowContext(ctx, `select version from schema_migrations`).Scan(&version)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Status{}, pgconn.Translate(err)
	}
	status := statusAt(version, g.steps)
	status.Running, err = holder(ctx, conn)
	return status, err
}

// At returns the status that the database would have at another version.
func (s Status) At(version uint) Status { return statusAt(version, stepsOf(migrations.FS)) }

func statusAt(version uint, steps []step) Status {
	s := Status{Version: version}
	for _, step := range steps {
		s.Latest = step.version
		if step.version > version {
			s.Pending = append(s.Pending, step.name)
		}
	}
	return s
}

// checkNotNewer returns ErrNewer for a database that this program does not know.
func (s Status) checkNotNewer() error {
	if s.Version <= s.Latest {
		return nil
	}
	return fmt.Errorf(
		"%w: it is at version %d, this program knows %d; use the release that migrated it, or a later one",
		ErrNewer,
		s.Version,
		s.Latest,
	)
}
