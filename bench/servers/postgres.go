package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"petstore.example/internal/store"
	"petstore.example/internal/store/migrate"
	"petstore.example/internal/test/pgtest"
)

// CreateDatabase makes a migrated database and returns its URL.
func CreateDatabase(ctx context.Context, p *pgtest.Server, name string) (string, error) {
	if err := store.CreateDatabase(ctx, p.URL("postgres", "postgres"), name); err != nil {
		return "", err
	}
	url := p.URL("postgres", name)
	if err := migrate.Up(ctx, url, nil); err != nil {
		return "", err
	}
	return url, Exec(ctx, url, "do $$ begin create role bench_api login in role petstore_api; "+
		"exception when duplicate_object then null; end $$")
}

// Clone copies a database to which nobody is connected, and returns the copy's URL.
func Clone(ctx context.Context, p *pgtest.Server, template, name string) (string, error) {
	return p.URL("postgres", name), Exec(ctx, p.URL("postgres", "postgres"),
		"create database "+name+" template "+template+" strategy file_copy",
		// The copy does not have the rights on the database itself.
		"revoke all on database "+name+" from public",
		"grant connect on database "+name+" to petstore_api, petstore_support, petstore_billing")
}

// Exec runs statements on one connection.
func Exec(ctx context.Context, url string, statements ...string) (err error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // settings are per connection
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%.200s: %w", s, err)
		}
	}
	return nil
}

// Value returns the value that a query selects.
func Value[T any](ctx context.Context, url, query string, args ...any) (v T, err error) {
	db, err := sql.Open("postgres", url)
	if err != nil {
		return v, err
	}
	if err := db.QueryRowContext(ctx, query, args...).Scan(&v); err != nil {
		return v, errors.Join(fmt.Errorf("%.200s: %w", query, err), db.Close())
	}
	return v, db.Close()
}
