package migrate

import (
	"context"
	"io/fs"
	"time"
)

// Migrator takes other migrations and timeouts, for tests.
type Migrator struct{ m migrator }

func NewMigrator(files fs.FS, timeout time.Duration) Migrator {
	m := newMigrator(files, nil)
	m.lockTimeout, m.pause, m.tryFor = timeout, timeout/2, 2*timeout
	return Migrator{m}
}

// With returns one that says what it waits for.
func (m Migrator) With(say func(string)) Migrator {
	m.m.say = say
	return m
}

// Timed returns one with the times of the programs.
func (m Migrator) Timed() Migrator { return Migrator{newMigrator(m.m.files, m.m.say)} }

func (m Migrator) Up(ctx context.Context, url string) error { return m.m.up(ctx, url) }

func (m Migrator) Down(ctx context.Context, url string, steps int) error {
	return m.m.down(ctx, url, steps)
}

func (m Migrator) Status(ctx context.Context, url string) (Status, error) {
	return m.m.status(ctx, url, "")
}

// Application names a migrating session.
var Application = application

// LockID is the number of the lock of migrations.
func LockID(ctx context.Context, url string) (string, error) {
	conn, err := connect(ctx, url, time.Minute)
	if err != nil {
		return "", err
	}
	defer conn.close()
	return lockID(ctx, conn.Conn)
}
