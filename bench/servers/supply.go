package servers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"petstore.example/bench/load"
	"petstore.example/internal/keys"
)

// Supply adds what the requests of a run use up, while a server runs on the database.
type Supply struct {
	db     *sql.DB
	sample *Sample
	next   int64 // the ID of the next animal
}

// The IDs of the animals of a Supply. Those of animals that requests create come after them.
const firstSupplied, lastSupplied = 1_000_000, 9_999_999

// NewSupply returns the supply of a database with that sample. It must be closed.
func NewSupply(url string, s *Sample) (*Supply, error) {
	db, err := openPool(url)
	if err != nil {
		return nil, err
	}
	return &Supply{db, s, firstSupplied}, nil
}

// Close closes the connections.
func (s *Supply) Close(context.Context) error { return s.db.Close() }

// Animals adds n available animals of Writer. A request of the target uses up one.
func (s *Supply) Animals(ctx context.Context, t *load.Target, n int) error {
	added := int64(n) + load.MoreIDs
	if s.next+added > lastSupplied {
		return errors.New("there are no more IDs for animals")
	}
	if err := insertAvailable(ctx, s.db, s.sample.Writer.ID, s.next, added); err != nil {
		return err
	}
	t.IDs = &load.IDs{First: s.next, Count: int64(n)}
	s.next += added
	return nil
}

// Keys adds n keys of Many, of which no server has seen any. A request of the target uses up one.
func (s *Supply) Keys(ctx context.Context, t *load.Target, n int) (err error) {
	t.Keys, err = insertKeys(ctx, s.db, s.sample.Many, n)
	return err
}

func insertAvailable(ctx context.Context, db *sql.DB, tenant, first, n int64) error {
	_, err := db.ExecContext(ctx, `
		insert into pets (tenant_id, id, name, category_id, status, created_at) overriding system value
		select $1, id, 'Rex the dog', 7, 'available', now() from generate_series($2::bigint, $2::bigint + $3::bigint - 1) id`, tenant, first, n)
	if err != nil {
		return fmt.Errorf("add animals: %w", err)
	}
	return nil
}

// insertKeys adds n keys, of the tenants in turn, without triggers: a running server gets no notices.
func insertKeys(ctx context.Context, db *sql.DB, tenants []Tenant, n int) ([]string, error) {
	texts, digests, of := make([]string, n), make(pq.ByteaArray, n), make(pq.Int64Array, n)
	for i := range texts {
		token, err := keys.NewToken(keys.Live)
		if err != nil {
			return nil, err
		}
		digest := token.Digest()
		texts[i], digests[i], of[i] = token.Reveal(), digest[:], tenants[i%len(tenants)].ID
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("add keys: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if _, err := tx.ExecContext(ctx, `set local session_replication_role = replica`); err != nil {
		return nil, fmt.Errorf("add keys: %w", err)
	}
	_, err = tx.ExecContext(ctx, `
		insert into api_keys (id, tenant_id, name, environment, digest, last4, created_at)
		select 'key_' || left(encode(digest, 'hex'), 16), tenant, 'bench', 'live', digest, 'last', now()
		from unnest($1::bytea[], $2::bigint[]) k (digest, tenant)`, digests, of)
	if err != nil {
		return nil, fmt.Errorf("add keys: %w", err)
	}
	return texts, tx.Commit()
}
