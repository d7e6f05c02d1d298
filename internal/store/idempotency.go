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
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// Idempotency stores the responses to requests that carried an idempotency key.
type Idempotency struct{ db *pgconn.DB }

var _ catalog.OnceStore = Idempotency{}

const (
	// lockScopeQuery takes a lock that ends with the transaction, and so at the latest with the connection.
	lockScopeQuery = forTenant + `
select pg_try_advisory_xact_lock($2) from t where t.id is not null`

	// storedAnswerQuery is a statement of its own, after the lock. A statement that began before the lock would not see an
	// answer that was committed in between. Its condition is the key alone: with expires_at in it, Postgres may choose the index on
	// expires_at while the table is empty, and a connection keeps that plan when the table has grown.
	storedAnswerQuery = `
select fingerprint, status, location, body, expires_at > $5 as valid from idempotency_keys
where tenant_id = $1 and method = $2 and path = $3 and key = $4`

	// keepAnswerQuery replaces an answer that has expired and was not removed yet.
	keepAnswerQuery = `
insert into idempotency_keys as k
  (tenant_id, method, path, key, created_at, expires_at, fingerprint, status, location, body)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce($10::bytea, ''))
on conflict (tenant_id, method, path, key) do update set
  created_at = excluded.created_at, expires_at = excluded.expires_at, fingerprint = excluded.fingerprint,
  status = excluded.status, location = excluded.location, body = excluded.body
where k.expires_at <= excluded.created_at`
)

// Once implements catalog.OnceStore.
func (d Idempotency) Once(
	ctx context.Context, tenantID int64, r *catalog.Idempotency, work func(context.Context, catalog.Creator) (catalog.Answer, error),
) (a catalog.Answer, replayed bool, err error) {
	if r == nil {
		a, err = work(ctx, struct {
			Pets
			Orders
		}{Pets(d), Orders(d)})
		return a, false, err
	}
	err = d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		locked, err := lockScope(ctx, tx, tenantID, r)
		if err != nil {
			return fmt.Errorf("lock idempotency key: %w", err)
		}
		// Also without the lock: its holder may only be replaying a stored answer.
		if a, replayed, err = storedAnswer(ctx, tx, tenantID, r); err != nil {
			return fmt.Errorf("look for stored answer: %w", err)
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
func lockScope(ctx context.Context, tx pgconn.Tx, tenantID int64, r *catalog.Idempotency) (locked bool, err error) {
	// No part contains a NUL, so different scopes have different texts.
	scope := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", tenantID, r.Method, r.Path, r.Key))
	err = tx.Get(ctx, &locked, lockScopeQuery, tenantID, int64(binary.BigEndian.Uint64(scope[:])))
	return locked, err
}

// storedAnswer returns false when there is none.
func storedAnswer(ctx context.Context, tx pgconn.Tx, tenantID int64, r *catalog.Idempotency) (catalog.Answer, bool, error) {
	var found []struct {
		catalog.Answer
		Fingerprint []byte `db:"fingerprint"`
		Valid       bool   `db:"valid"`
	}
	err := tx.Select(ctx, &found, storedAnswerQuery, tenantID, r.Method, r.Path, r.Key, r.At)
	switch {
	case err != nil || len(found) == 0 || !found[0].Valid:
		return catalog.Answer{}, false, err
	case !bytes.Equal(found[0].Fingerprint, r.Fingerprint[:]):
		return catalog.Answer{}, false, catalog.ErrIdempotencyKeyReused
	}
	return found[0].Answer, true, nil
}

func keepAnswer(ctx context.Context, tx pgconn.Tx, tenantID int64, r *catalog.Idempotency, a catalog.Answer) error {
	stored, err := tx.Exec(ctx, keepAnswerQuery, tenantID, r.Method, r.Path, r.Key, r.At, r.At.Add(catalog.IdempotencyLifetime),
		r.Fingerprint[:], a.Status, a.Location, a.Body)
	if err != nil {
		return err
	}
	if stored != 1 {
		return errors.New("an answer is stored already")
	}
	return nil
}

// Prune removes at most limit answers that have expired at now. It returns how many it removed: fewer than limit when none is
// left. Servers may prune at the same time.
func (d Idempotency) Prune(ctx context.Context, now time.Time, limit int) (removed int, err error) {
	for after := int64(math.MinInt64); removed < limit; {
		var step struct {
			Last    sql.NullInt64 // the last tenant that was looked at, null for none
			Removed int
		}
		err := d.db.Get(ctx, &step, `select last, removed from prune_idempotency_keys($1, $2, $3)`,
			now, after, min(limit-removed, math.MaxInt32))
		if err != nil {
			return removed, fmt.Errorf("prune idempotency keys: %w", err)
		}
		removed += step.Removed
		if !step.Last.Valid {
			break
		}
		after = step.Last.Int64
	}
	return removed, nil
}
