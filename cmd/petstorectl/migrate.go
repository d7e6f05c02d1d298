package main

import (
	"context"

	"github.com/spf13/cobra"

	"petstore.example/internal/store"
)

func newCmdMigrate(f *factory) *cobra.Command {
	return newGroup("migrate", "The database's schema",
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

// migrationStatus reads the state of the database that is named.
func (f *factory) migrationStatus(ctx context.Context) (foundDatabase, store.MigrationStatus, error) {
	found, err := f.findDatabase()
	if err != nil {
		return found, store.MigrationStatus{}, err
	}
	status, err := store.MigrateStatus(ctx, found.url)
	if err != nil {
		return found, status, found.explain(err)
	}
	return found, status, nil
}
