package main

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
	"petstore.example/migrations"
)

func newCmdMigrate(f *factory) *cobra.Command {
	return newGroup("migrate", "Manage the database schema",
		newCmdMigrateUp(f, nil), newCmdMigrateDown(f, nil), newCmdMigrateStatus(f, nil),
	)
}

var migrationView = view[store.MigrationStatus]{
	{name: "version", value: func(s store.MigrationStatus) any { return int64(s.Version) }},
	{name: "latest", value: func(s store.MigrationStatus) any { return int64(s.Latest) }},
	{name: "state", value: func(s store.MigrationStatus) any { return migrationState(s) }},
	{name: "pending", value: func(s store.MigrationStatus) any { return s.Pending }},
}

// migrationState is up to date, behind, newer (than this program) or dirty (broken off).
func migrationState(s store.MigrationStatus) string {
	switch {
	case s.Dirty:
		return "dirty"
	case s.Version > s.Latest:
		return "newer"
	case len(s.Pending) > 0:
		return "behind"
	}
	return "up to date"
}

// migrated is the state after a change that was only tried: the database at that version.
func migrated(s store.MigrationStatus, version uint) (store.MigrationStatus, error) {
	names, err := fs.Glob(migrations.FS, "*.up.sql")
	if err != nil {
		return s, err
	}
	s.Version, s.Pending = version, nil
	for _, name := range names {
		var number uint
		if _, err := fmt.Sscanf(name, "%d_", &number); err == nil && number > version {
			s.Pending = append(s.Pending, strings.TrimSuffix(name, ".up.sql"))
		}
	}
	return s, nil
}

// migrationStatus reads the state of the database that is named.
func (f *factory) migrationStatus(ctx context.Context) (foundDatabase, store.MigrationStatus, error) {
	found, err := f.findDatabase()
	if err != nil {
		return found, store.MigrationStatus{}, err
	}
	// The first connection is the one that is not waited for long.
	if _, err := f.database(ctx); err != nil {
		return found, store.MigrationStatus{}, err
	}
	status, err := store.MigrateStatus(ctx, found.url)
	if err != nil {
		return found, status, found.explain(err)
	}
	return found, status, nil
}

// printMigrated prints, for programs, the state after a change: the one given when it was only tried.
func (f *factory) printMigrated(ctx context.Context, tried store.MigrationStatus, version uint) error {
	status, err := migrated(tried, version)
	if !f.dryRun {
		_, status, err = f.migrationStatus(ctx)
	}
	if err != nil {
		return err
	}
	return printChanged(f, migrationView, status)
}
