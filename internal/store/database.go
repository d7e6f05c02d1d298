package store

import (
	"context"
	"fmt"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"petstore.example/internal/store/pgconn"
)

// CreateDatabase makes a database of that name on the URL's server, unless it exists.
func CreateDatabase(ctx context.Context, url, name string) error {
	db, err := pgconn.Open(ctx, url, pgconn.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.Exec(ctx, `create database `+pq.QuoteIdentifier(name))
	if err != nil && pq.As(err, pqerror.DuplicateDatabase) == nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}
