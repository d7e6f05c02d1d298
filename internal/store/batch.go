package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// MaxBatch is the most changes that a batch should make: while their audit entries are written, automatic bans wait.
const MaxBatch = 1000

// Batch runs fn, whose changes are made in one transaction if it makes them with the DB that it is given: all of them, or none if fn or
// any of the changes fails. That DB is for one goroutine, and reads what the batch has changed. by.DryRun, or that of any change, rolls
// all back. The audit entries are written at the end, with numbers that follow each other.
//
// Each statement has the time of a call; fn is called once. A batch that changes several tenants or keys calls Lock first.
func (d *DB) Batch(ctx context.Context, by audit.By, fn func(context.Context, *DB) error) error {
	return runChanges(ctx, d.pg.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
		return fn(ctx, newDB(d.pg.In(tx)))
	})
}

// Lock blocks other changes to these tenants, by name or number (#12), and to these keys, by ID, and to the tenants of the keys, until the batch ends.
// All changes lock tenants before keys, and both in the order of their IDs, so that batches wait for each other and never for themselves.
// Those that do not exist are left out.
func (d *DB) Lock(ctx context.Context, tenants, keyIDs []string) error {
	var names []string
	var ids []int64
	for _, t := range tenants {
		if digits, ok := strings.CutPrefix(t, "#"); ok {
			id, err := strconv.ParseInt(digits, 10, 64)
			if err != nil {
				return plans.ErrTenantNotFound
			}
			ids = append(ids, id)
			continue
		}
		names = append(names, t)
	}
	return d.lock(ctx, names, ids, keyIDs)
}

func (d *DB) lock(ctx context.Context, names []string, tenantIDs []int64, keyIDs []string) error {
	for _, l := range []struct {
		statement string
		args      []any
	}{
		{
			`select from tenants where id in (
			   select id from tenants where name = any($1) union select unnest($2::bigint[]) union select tenant_id from api_keys where id = any($3)
			 ) order by id for no key update`,
			[]any{pq.Array(names), pq.Array(tenantIDs), pq.Array(keyIDs)},
		},
		{`select from api_keys where id = any($1) order by id for no key update`, []any{pq.Array(keyIDs)}},
	} {
		if _, err := d.pg.Exec(ctx, l.statement, l.args...); err != nil {
			return fmt.Errorf("lock tenants and keys: %w", err)
		}
	}
	return nil
}
