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
	Dirty   bool     // a migration was interrupted, and may or may not have taken effect
	Pending []string // the migrations to apply, by file name without ".up.sql"
	Running *Session // who migrates the database now, nil for nobody
}

// GetStatus reads how far the database has been migrated. It changes nothing.
func GetStatus(ctx context.Context, databaseURL string) (Status, error) {
	status, err := newMigrator(migrations.FS, nil).status(ctx, databaseURL)
	if err != nil {
		return Status{}, fmt.Errorf("migrate status: %w", err)
	}
	return status, nil
}

func (g migrator) status(ctx context.Context, databaseURL string) (Status, error) {
	return g.statusAs(ctx, databaseURL, "")
}

// statusAs reads the status with the rights of the role, or with those of the login if it is "".
func (g migrator) statusAs(ctx context.Context, databaseURL, role string) (Status, error) {
	steps, err := readSteps(g.files)
	if err != nil {
		return Status{}, err
	}
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
	return readStatus(ctx, conn.Conn, steps)
}

// Check returns an error that says what to do when a server of this program cannot use the schema:
// the database was never migrated (pgconn.NeverMigratedError), lacks migrations (BehindError), or a
// migration was interrupted (DirtyError). If a newer release migrated the database, the error is
// ErrNewer, and a server may or may not work.
func Check(ctx context.Context, databaseURL string) error {
	g := newMigrator(migrations.FS, nil)
	status, err := g.statusAs(ctx, databaseURL, pgconn.APIRole)
	if err != nil {
		return fmt.Errorf("check the schema: %w", err)
	}
	steps, err := readSteps(g.files)
	if err != nil {
		return err
	}
	switch {
	case status.Running != nil && status.lower():
	case status.Dirty, len(status.Pending) == 0:
		return status.check(steps)
	case status.Version == 0:
		return pgconn.NewNeverMigratedError(databaseURL)
	}
	return BehindError{status}
}

// lower reports whether the schema lacks what this program needs.
func (s Status) lower() bool { return s.Version < s.Latest || s.Dirty && s.Version == s.Latest }

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

// Await waits while the schema lacks what this program needs and a migration runs, and calls waiting
// with its session, again and again. It reports whether the schema has what is needed now. An error
// is about the connection.
func Await(ctx context.Context, databaseURL string, waiting func(Session)) (ready bool, err error) {
	steps, err := readSteps(migrations.FS)
	if err != nil {
		return false, err
	}
	conn, err := connect(ctx, databaseURL, pgconn.StaffTimeout)
	if err != nil {
		return false, err
	}
	defer conn.close()
	for {
		// Before the first migration there is neither the role nor a table that it may read.
		_, _ = conn.ExecContext(ctx, `set role `+pgconn.APIRole)
		by, err := holder(ctx, conn.Conn) // before the version, which its holder may raise meanwhile
		if err != nil {
			return false, err
		}
		status, err := readStatus(ctx, conn.Conn, steps)
		if err == nil && !status.lower() {
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

// readSteps lists the migrations in order.
func readSteps(files fs.FS) ([]step, error) {
	names, err := fs.Glob(files, "*.up.sql")
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, name := range names {
		m, err := source.DefaultParse(name)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		steps = append(steps, step{version: m.Version, name: strings.TrimSuffix(name, ".up.sql")})
	}
	slices.SortFunc(steps, func(a, b step) int { return int(a.version) - int(b.version) })
	return steps, nil
}

func readStatus(ctx context.Context, conn *sql.Conn, steps []step) (Status, error) {
	var version int64
	var status Status
	var begun bool
	err := conn.QueryRowContext(ctx, `select to_regclass('schema_migrations') is not null`).Scan(&begun)
	if err == nil && begun {
		err = conn.QueryRowContext(ctx, `select version, dirty from schema_migrations`).Scan(&version, &status.Dirty)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Status{}, pgconn.Translate(err)
	}
	status = status.at(uint(max(version, 0)), steps) // -1: reverting the first migration was interrupted
	status.Running, err = holder(ctx, conn)
	return status, err
}

// At returns the status that the database would have at another version.
func (s Status) At(version uint) (Status, error) {
	steps, err := readSteps(migrations.FS)
	return s.at(version, steps), err
}

func (s Status) at(version uint, steps []step) Status {
	s.Version, s.Pending = version, nil
	for _, step := range steps {
		s.Latest = step.version
		if step.version > version {
			s.Pending = append(s.Pending, step.name)
		}
	}
	return s
}

// check returns an error for a status from which no migration may start.
func (s Status) check(steps []step) error {
	if s.Version > s.Latest {
		return fmt.Errorf(
			"%w: it is at version %d, this program knows %d; use the release that migrated it, or a later one",
			ErrNewer,
			s.Version,
			s.Latest,
		)
	}
	if s.Dirty {
		return DirtyError{Version: s.Version, steps: steps}
	}
	return nil
}

// DirtyError says that a migration of another program than this was interrupted by a crash or a lost
// connection, after it began and before its end was recorded: golang-migrate's own. Each migration
// is one transaction, so it took effect wholly or not at all. Somebody has to look which.
type DirtyError struct {
	Version uint
	steps   []step
}

func (e DirtyError) Error() string {
	name, before := fmt.Sprint(e.Version), "delete from schema_migrations"
	for i, s := range e.steps {
		if s.version != e.Version {
			continue
		}
		name = s.name
		if i > 0 {
			before = fmt.Sprintf("update schema_migrations set version = %d, dirty = false", e.steps[i-1].version)
		}
	}
	return fmt.Sprintf("the database is dirty at version %d: migration %s was interrupted. "+
		"If its changes are there, run in psql: update schema_migrations set dirty = false; if not: %s; then "+
		"migrate again",
		e.Version, name, before)
}
