package catalog

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// Idempotency stores the responses to requests with an idempotency key.
type Idempotency struct{ db *pgconn.DB }

var _ catalog.OnceStore = Idempotency{}

// claimKeyQuery says whether the request is fresh, and returns the stored answer. Unless another
// request has the key's lock, it takes the lock until the transaction ends.
const claimKeyQuery = forTenant + `
select fresh, reused, coalesce(status, 0) as status, coalesce(location, '') as location, body
from claim_idempotency_keys((select id from t)::bigint, $2, $3, array[$4::bigint], array[$5::text],
  array[$6::bytea], array[$7::timestamptz])`

// keepAnswerQuery replaces an answer that has expired and was not removed yet.
var keepAnswerQuery = `
insert into idempotency_keys (tenant_id, method, path, key, created_at, expires_at, fingerprint, status, location, body)
values ($1, $2, $3, $4, $5, $5::timestamptz + interval '` +
	strconv.Itoa(int(catalog.IdempotencyLifetime/time.Second)) + ` seconds', $6, $7, $8, $9)
on conflict (tenant_id, method, path, key) do update set
  created_at = excluded.created_at, expires_at = excluded.expires_at, fingerprint = excluded.fingerprint,
  status = excluded.status, location = excluded.location, body = excluded.body`

// CreatePetOnce implements catalog.OnceStore.
func (d Idempotency) CreatePetOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewPet, catalog.Pet],
) (catalog.Answered, error) {
	return once(ctx, d, tenantID, &o, createPet)
}

// PlaceOrderOnce implements catalog.OnceStore.
func (d Idempotency) PlaceOrderOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewOrder, catalog.Order],
) (catalog.Answered, error) {
	return once(ctx, d, tenantID, &o, placeOrder)
}

// once creates an item in the transaction that stores the answer.
func once[New, Created any](
	ctx context.Context,
	d Idempotency,
	tenantID int64,
	o *catalog.Once[New, Created],
	create func(ctx context.Context, tx pgconn.Tx, tenantID int64, n New) (Created, error),
) (catalog.Answered, error) {
	return d.Do(ctx, tenantID, &o.Request, func(ctx context.Context, tx pgconn.Tx) (catalog.Answer, error) {
		created, err := create(ctx, tx, tenantID, o.New)
		if err != nil {
			return catalog.Answer{}, err
		}
		return o.Answer(&created)
	})
}

// scopeOf is the number of the lock for a request's key.
func scopeOf(tenantID int64, r *catalog.Idempotency) int64 {
	// No part contains a NUL, so different scopes have different texts.
	scope := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", tenantID, r.Method, r.Path, r.Key))
	return int64(binary.BigEndian.Uint64(scope[:]))
}

// claimedAs returns the result of a request whose key was used before.
func claimedAs(fresh, reused bool, a catalog.Answer) (catalog.Answered, error) {
	switch {
	case reused:
		return catalog.Answered{}, catalog.ErrIdempotencyKeyReused
	case !fresh && a.Body == nil:
		return catalog.Answered{}, catalog.ErrIdempotencyInProgress
	}
	return catalog.Answered{Answer: a, Replayed: !fresh}, nil
}

// Do calls work, unless an answer to the request is stored, and stores the answer that work
// returns, as a catalog.OnceStore does.
func (d Idempotency) Do(
	ctx context.Context,
	tenantID int64,
	r *catalog.Idempotency,
	work func(context.Context, pgconn.Tx) (catalog.Answer, error),
) (answered catalog.Answered, err error) {
	err = pgconn.WriteTx(ctx, d.db, func(ctx context.Context, tx pgconn.Tx) (err error) {
		var claimed struct {
			catalog.Answer
			Fresh  bool
			Reused sql.NullBool
		}
		if err := tx.Get(ctx, &claimed, claimKeyQuery, tenantID, r.Method, r.Path, scopeOf(tenantID, r), r.Key,
			r.Fingerprint[:], r.At); err != nil {
			return fmt.Errorf("claim idempotency key: %w", err)
		}
		answered, err = claimedAs(claimed.Fresh, claimed.Reused.Bool, claimed.Answer)
		if err != nil || answered.Replayed {
			return err
		}
		if answered.Answer, err = work(ctx, tx); err != nil {
			return err
		}
		a := &answered.Answer
		_, err = tx.Exec(ctx, keepAnswerQuery, tenantID, r.Method, r.Path, r.Key, r.At, r.Fingerprint[:],
			a.Status, a.Location, a.Body)
		return err
	})
	if err != nil {
		return catalog.Answered{}, err
	}
	return answered, nil
}

// Prune removes at most limit answers that have expired at now. It returns their number, which is
// less than limit if none are left. Servers may prune at the same time.
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
