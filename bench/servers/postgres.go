package servers

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"petstore.example/bench/cputime"
	"petstore.example/internal/store"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/test/pgtest"
)

// Postgres is a throwaway cluster.
type Postgres struct{ *pgtest.Server }

// StartPostgres starts an empty cluster.
func StartPostgres(ctx context.Context) (*Postgres, error) {
	server, err := pgtest.Start(ctx, false, nil)
	return &Postgres{server}, err
}

// StartPostgresWith starts an empty cluster that accepts so many connections.
func StartPostgresWith(ctx context.Context, maxConnections int) (*Postgres, error) {
	server, err := pgtest.Start(ctx, false, map[string]string{"shared_buffers": "512MB", "max_connections": strconv.Itoa(maxConnections)})
	return &Postgres{server}, err
}

// CPU returns the CPU time of all of the server's processes.
func (p *Postgres) CPU() (time.Duration, error) {
	used, err := cputime.OfTrees(p.PID())
	if err != nil {
		return 0, err
	}
	return used[0], nil
}

// CreateDatabase makes a migrated database and returns its URL.
func (p *Postgres) CreateDatabase(ctx context.Context, name string) (string, error) {
	if err := store.CreateDatabase(ctx, p.URL("postgres", "postgres"), name); err != nil {
		return "", err
	}
	url := p.URL("postgres", name)
	return url, migrate.Up(ctx, url)
}

// Clone makes a copy of a database to which nobody is connected, and returns its URL.
func (p *Postgres) Clone(ctx context.Context, template, name string) (string, error) {
	db, err := sql.Open("postgres", p.URL("postgres", "postgres"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	for _, statement := range []string{
		"create database " + name + " template " + template + " strategy file_copy",
		// Rights on the database itself are not copied.
		"revoke all on database " + name + " from public",
		"grant connect on database " + name + " to petstore_api, petstore_support, petstore_billing",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return "", fmt.Errorf("%s: %w", statement, err)
		}
	}
	return p.URL("postgres", name), nil
}

// Settings returns the values of the settings, in the order of names.
func (p *Postgres) Settings(ctx context.Context, names ...string) ([]string, error) {
	db, err := sql.Open("postgres", p.URL("postgres", "postgres"))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	values := make([]string, len(names))
	for i, name := range names {
		if err := db.QueryRowContext(ctx, "select current_setting($1)", name).Scan(&values[i]); err != nil {
			return nil, fmt.Errorf("read setting %s: %w", name, err)
		}
	}
	return values, nil
}
