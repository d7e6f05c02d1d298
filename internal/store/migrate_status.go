package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/golang-migrate/migrate/v4/source"

	"petstore.example/internal/store/pgconn"
	"petstore.example/migrations"
)

// MigrationStatus tells how far a database has been migrated.
type MigrationStatus struct {
	Version uint     // the last migration applied, 0 for an empty database
	Latest  uint     // the last one that this program has
	Dirty   bool     // a migration was broken off, and nobody knows whether it took effect
	Pending []string // the migrations to come, by file name without ".up.sql"
}

// MigrateStatus reads how far the database has been migrated. It changes nothing.
func MigrateStatus(ctx context.Context, databaseURL string) (MigrationStatus, error) {
	status, err := newMigrator(migrations.FS).status(ctx, databaseURL)
	if err != nil {
		return MigrationStatus{}, fmt.Errorf("migrate status: %w", err)
	}
	return status, nil
}

func (g migrator) status(ctx context.Context, databaseURL string) (MigrationStatus, error) {
	steps, err := readSteps(g.files)
	if err != nil {
		return MigrationStatus{}, err
	}
	conn, closeAll, err := connect(ctx, databaseURL, pgconn.StaffTimeout)
	if err != nil {
		return MigrationStatus{}, err
	}
	defer closeAll()
	return readStatus(ctx, conn, steps)
}

// CheckSchema returns an error that says what to do when the database is not as far migrated as this program needs, or
// when a migration was broken off (DirtyError).
func CheckSchema(ctx context.Context, databaseURL string) error {
	g := newMigrator(migrations.FS)
	status, err := g.status(ctx, databaseURL)
	switch {
	case err != nil:
		return fmt.Errorf("check the schema: %w", err)
	case status.Dirty:
		steps, err := readSteps(g.files)
		return errors.Join(err, DirtyError{Version: status.Version, steps: steps})
	case len(status.Pending) > 0:
		return fmt.Errorf("the database is at version %d of its schema and this program needs %d: run petstorectl migrate up",
			status.Version, status.Latest)
	}
	return nil
}

// step is one migration.
type step struct {
	version uint
	name    string
}

// readSteps lists the migrations in their order.
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

func readStatus(ctx context.Context, conn *sql.Conn, steps []step) (MigrationStatus, error) {
	var version int64
	var status MigrationStatus
	var begun bool
	err := conn.QueryRowContext(ctx, `select to_regclass('schema_migrations') is not null`).Scan(&begun)
	if err == nil && begun {
		err = conn.QueryRowContext(ctx, `select version, dirty from schema_migrations`).Scan(&version, &status.Dirty)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return MigrationStatus{}, pgconn.Translate(err)
	}
	status.Version = uint(max(version, 0)) // -1 stands for a broken way down from the first migration
	for _, s := range steps {
		status.Latest = s.version
		if s.version > status.Version {
			status.Pending = append(status.Pending, s.name)
		}
	}
	return status, nil
}

// check refuses the states from which no migration may start.
func (s MigrationStatus) check(steps []step) error {
	if s.Version > s.Latest {
		return fmt.Errorf("%w: it is at version %d, this program knows %d: use the release that migrated it, or a later one",
			ErrSchemaNewer, s.Version, s.Latest)
	}
	if s.Dirty {
		return DirtyError{Version: s.Version, steps: steps}
	}
	return nil
}

// DirtyError says that a migration was broken off, by a crash or a lost connection, after it had begun and before its end was
// recorded. Each migration is one transaction, so it took effect wholly or not at all; which of them, someone has to look.
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
	return fmt.Sprintf("the database is dirty at version %d: migration %s was broken off. "+
		"If its changes are there, run in psql: update schema_migrations set dirty = false; if not: %s; then migrate again",
		e.Version, name, before)
}
