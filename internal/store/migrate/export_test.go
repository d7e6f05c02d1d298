package migrate

import (
	"context"
	"io/fs"
	"time"
)

// Migrator takes other migrations and timeouts, for tests.
type Migrator struct{ m migrator }

func NewMigrator(files fs.FS, timeout time.Duration) Migrator {
	return Migrator{migrator{files: files, lockWait: timeout, lockTimeout: timeout}}
}

func (m Migrator) Up(ctx context.Context, url string) error { return m.m.up(ctx, url) }

func (m Migrator) Down(ctx context.Context, url string, steps int) error {
	return m.m.down(ctx, url, steps)
}

func (m Migrator) Status(ctx context.Context, url string) (Status, error) {
	return m.m.status(ctx, url)
}
