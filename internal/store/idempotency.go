package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"petstore.example/internal/catalog"
)

// Idempotency stores the responses to requests that carried an idempotency key.
type Idempotency struct{ *conn }

var _ catalog.OnceStore = Idempotency{}

const (
	// lockScopeQuery takes a lock that ends with the transaction, and so with the connection, whatever becomes of the server.
	lockScopeQuery = forTenant + `
select pg_try_advisory_xact_lock($2) from t where t.id is not null`

	// keptAnswerQuery is a statement of its own, after the lock: one that began before it would not see an answer that was
	// committed in between.
	keptAnswerQuery = `
select fingerprint, status, location, body from idempotency_keys
where tenant_id = $1 and method = $2 and path = $3 and key = $4 and expires_at > $5`

	// keepAnswerQuery writes over an answer that has expired and was not removed yet.
	keepAnswerQuery = `
insert into idempotency_keys as k
  (tenant_id, method, path, key, created_at, expires_at, fingerprint, status, location, body)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce($10::bytea, ''))
on conflict (tenant_id, method, path, key) do update set
  created_at = excluded.created_at, expires_at = excluded.expires_at, fingerprint = excluded.fingerprint,
  status = excluded.status, location = excluded.location, body = excluded.body
where k.expires_at <= excluded.created_at`
)

var onceQueries = slices.Concat([]string{lockScopeQuery, keptAnswerQuery, keepAnswerQuery}, creatorQueries)

// Once implements catalog.OnceStore.
func (d Idempotency) Once(
	ctx context.Context, tenantID int64, r *catalog.Idempotency, work func(context.Context, catalog.Creator) (catalog.Answer, error),
) (a catalog.Answer, replayed bool, err error) {
	if r == nil {
		a, err = work(ctx, struct {
			Pets
			Orders
		}{Pets{d.conn}, Orders{d.conn}})
		return a, false, err
	}
	err = d.preparedTx(ctx, onceQueries, func(ctx context.Context, tx preparedTx) error {
		locked, err := lockScope(ctx, tx, tenantID, r)
		if err != nil {
			return fmt.Errorf("lock idempotency key: %w", err)
		}
		// Also without the lock: who holds it may only be giving a kept answer again.
		if a, replayed, err = keptAnswer(ctx, tx, tenantID, r); err != nil {
			return fmt.Errorf("look for kept answer: %w", err)
		}
		if replayed {
			return nil
		}
		if !locked {
			return catalog.ErrIdempotencyInProgress
		}
		if a, err = work(ctx, creator{tx}); err != nil {
			return err
		}
		if err := keepAnswer(ctx, tx, tenantID, r, a); err != nil {
			return fmt.Errorf("keep answer: %w", err)
		}
		return nil
	})
	if err != nil {
		return catalog.Answer{}, false, err
	}
	return a, replayed, nil
}

// lockScope returns false when another request has the lock.
func lockScope(ctx context.Context, tx preparedTx, tenantID int64, r *catalog.Idempotency) (locked bool, err error) {
	// No part holds a NUL, so no two scopes are written the same.
	scope := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", tenantID, r.Method, r.Path, r.Key))
	err = tx.get(ctx, &locked, lockScopeQuery, tenantID, int64(binary.BigEndian.Uint64(scope[:])))
	return locked, err
}

// keptAnswer returns false when there is none.
func keptAnswer(ctx context.Context, tx preparedTx, tenantID int64, r *catalog.Idempotency) (catalog.Answer, bool, error) {
	var found []struct {
		catalog.Answer
		Fingerprint []byte `db:"fingerprint"`
	}
	err := tx.query(ctx, &found, keptAnswerQuery, tenantID, r.Method, r.Path, r.Key, r.At)
	switch {
	case err != nil || len(found) == 0:
		return catalog.Answer{}, false, err
	case !bytes.Equal(found[0].Fingerprint, r.Fingerprint[:]):
		return catalog.Answer{}, false, catalog.ErrIdempotencyKeyReused
	}
	return found[0].Answer, true, nil
}

func keepAnswer(ctx context.Context, tx preparedTx, tenantID int64, r *catalog.Idempotency, a catalog.Answer) error {
	kept, err := tx.exec(ctx, keepAnswerQuery, tenantID, r.Method, r.Path, r.Key, r.At, r.At.Add(catalog.IdempotencyLifetime),
		r.Fingerprint[:], a.Status, a.Location, a.Body)
	if err != nil {
		return err
	}
	if kept != 1 {
		return errors.New("there is one already")
	}
	return nil
}

// Prune removes answers that have expired at the instant now, at most limit of them. It returns how many it
// removed: fewer than limit when none is left. Any number of servers can do so at the same time.
func (d Idempotency) Prune(ctx context.Context, now time.Time, limit int) (removed int, err error) {
	for after := int64(math.MinInt64); removed < limit; {
		last, n, err := d.pruneKeys(ctx, now, after, limit-removed)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("prune idempotency keys: %w", err)
		}
		if !last.Valid {
			break
		}
		after = last.Int64
	}
	return removed, nil
}

// pruneKeys goes through some of the tenants behind a given one. It returns the last of them, null for none.
func (d Idempotency) pruneKeys(ctx context.Context, now time.Time, after int64, limit int) (last sql.NullInt64, removed int, err error) {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	err = d.db.QueryRowContext(ctx, `select last, removed from prune_idempotency_keys($1, $2, $3)`,
		now, after, min(limit, math.MaxInt32)).Scan(&last, &removed)
	return last, removed, translate(err)
}
