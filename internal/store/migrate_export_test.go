package store

import (
	"context"
	"io/fs"
	"time"
)

// Migrator gives the tests migrations of their own, and less patience.
type Migrator struct{ m migrator }

func NewMigrator(files fs.FS, patience time.Duration) Migrator {
	return Migrator{migrator{files: files, lockWait: patience, tableTry: patience}}
}

func (m Migrator) Up(ctx context.Context, url string) error { return m.m.up(ctx, url) }

func (m Migrator) Down(ctx context.Context, url string, steps int) error {
	return m.m.down(ctx, url, steps)
}

func (m Migrator) Status(ctx context.Context, url string) (MigrationStatus, error) {
	return m.m.status(ctx, url)
}
