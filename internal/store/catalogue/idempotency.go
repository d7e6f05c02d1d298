package catalogue

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

	"github.com/lib/pq"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// Idempotency stores the responses to requests that carried an idempotency key.
type Idempotency struct{ db *pgconn.DB }

var _ catalog.OnceStore = Idempotency{}

const (
	// lockScopesQuery takes locks that end with the transaction, and so at the latest with the connection.
	lockScopesQuery = forTenant + `
select pg_try_advisory_xact_lock(scope)
from t, unnest($2::bigint[]) with ordinality as asked (scope, place)
where t.id is not null order by place`

	// storedAnswersQuery is a statement of its own, after the locks. A statement that began before a lock would not see an answer that was
	// committed in between. Each answer is looked up by its key alone, and as no join: then the only index that fits is that of the
	// primary key, whatever the table was when the plan was made.
	storedAnswersQuery = `
select asked.place, stored.fingerprint, stored.status, stored.location, stored.body, stored.expires_at
from unnest($2::text[], $3::text[], $4::text[]) with ordinality as asked (method, path, key, place),
lateral (
  select fingerprint, status, location, body, expires_at from idempotency_keys
  where tenant_id = $1 and method = asked.method and path = asked.path and key = asked.key offset 0
) stored`

	// keepAnswersQuery replaces answers that have expired and were not removed yet.
	keepAnswersQuery = `
insert into idempotency_keys as k
  (tenant_id, method, path, key, created_at, expires_at, fingerprint, status, location, body)
select $1, method, path, key, created_at, expires_at, fingerprint, status, location, body
from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::bytea[], $8::smallint[], $9::text[], $10::bytea[])
  as answered (method, path, key, created_at, expires_at, fingerprint, status, location, body)
on conflict (tenant_id, method, path, key) do update set
  created_at = excluded.created_at, expires_at = excluded.expires_at, fingerprint = excluded.fingerprint,
  status = excluded.status, location = excluded.location, body = excluded.body
where k.expires_at <= excluded.created_at`
)

// CreatePetOnce implements catalog.OnceStore.
func (d Idempotency) CreatePetOnce(ctx context.Context, tenantID int64, o catalog.Once[catalog.NewPet, catalog.Pet]) (catalog.Answered, error) {
	outcome := d.CreatePetsOnce(ctx, tenantID, []catalog.Once[catalog.NewPet, catalog.Pet]{o})[0]
	return outcome.Result, outcome.Err
}

// CreatePetsOnce is CreatePetOnce for several requests, see onceEach.
func (d Idempotency) CreatePetsOnce(
	ctx context.Context, tenantID int64, asked []catalog.Once[catalog.NewPet, catalog.Pet],
) []catalog.Outcome[catalog.Answered] {
	return onceEach(ctx, d, tenantID, asked, createPetsIn)
}

// PlaceOrderOnce implements catalog.OnceStore.
func (d Idempotency) PlaceOrderOnce(ctx context.Context, tenantID int64, o catalog.Once[catalog.NewOrder, catalog.Order]) (catalog.Answered, error) {
	outcome := d.PlaceOrdersOnce(ctx, tenantID, []catalog.Once[catalog.NewOrder, catalog.Order]{o})[0]
	return outcome.Result, outcome.Err
}

// PlaceOrdersOnce is PlaceOrderOnce for several requests, see onceEach.
func (d Idempotency) PlaceOrdersOnce(
	ctx context.Context, tenantID int64, asked []catalog.Once[catalog.NewOrder, catalog.Order],
) []catalog.Outcome[catalog.Answered] {
	return onceEach(ctx, d, tenantID, asked, placeOrdersIn)
}

// onceEach has create make what several requests ask for, in one transaction. If that fails, each request is tried alone, unless Postgres is
// unavailable: then the outcome is the same for all, and may be unknown. Of requests with the same key the first is the one that runs, and
// the others get its answer.
func onceEach[New, Created any](
	ctx context.Context, d Idempotency, tenantID int64, asked []catalog.Once[New, Created],
	create func(ctx context.Context, tx pgconn.Tx, tenantID int64, news []New, created []catalog.Outcome[Created]) error,
) []catalog.Outcome[catalog.Answered] {
	requests, outcomes := make([]*catalog.Idempotency, len(asked)), make([]catalog.Outcome[catalog.Answered], len(asked))
	for i := range asked {
		requests[i] = &asked[i].Request
	}
	err := d.once(ctx, tenantID, requests, outcomes, func(ctx context.Context, tx pgconn.Tx, fresh []int) error {
		news, created := make([]New, len(fresh)), make([]catalog.Outcome[Created], len(fresh))
		for n, i := range fresh {
			news[n] = asked[i].New
		}
		err := create(ctx, tx, tenantID, news, created)
		for n := 0; err == nil && n < len(fresh); n++ {
			i := fresh[n]
			if outcomes[i].Err = created[n].Err; outcomes[i].Err == nil {
				outcomes[i].Result.Answer, err = asked[i].Answer(&created[n].Result)
			}
		}
		return err
	})
	switch {
	case err == nil:
		return outcomes
	case len(asked) == 1 || errors.Is(err, pgconn.ErrUnavailable):
		return allFailed(outcomes, err)
	}
	return tryEach(outcomes, func(i int) (catalog.Answered, error) {
		outcome := onceEach(ctx, d, tenantID, asked[i:i+1], create)[0]
		return outcome.Result, outcome.Err
	})
}

// Do has work make what the request asks for, unless an answer to it is stored, and stores the answer that work returns, as a catalog.OnceStore does.
func (d Idempotency) Do(
	ctx context.Context, tenantID int64, r *catalog.Idempotency, work func(context.Context, pgconn.Tx) (catalog.Answer, error),
) (catalog.Answered, error) {
	var outcome [1]catalog.Outcome[catalog.Answered]
	err := d.once(ctx, tenantID, []*catalog.Idempotency{r}, outcome[:], func(ctx context.Context, tx pgconn.Tx, _ []int) (err error) {
		outcome[0].Result.Answer, err = work(ctx, tx)
		return err
	})
	if err != nil {
		return catalog.Answered{}, err
	}
	return outcome[0].Result, outcome[0].Err
}

// once finds the stored answers to the requests, has create make and answer what is fresh, and stores those answers. create sets the answer or
// the error in the outcome of each fresh request.
func (d Idempotency) once(
	ctx context.Context, tenantID int64, requests []*catalog.Idempotency, outcomes []catalog.Outcome[catalog.Answered],
	create func(ctx context.Context, tx pgconn.Tx, fresh []int) error,
) error {
	first := firstOfKey(requests)
	return pgconn.WriteTx(ctx, d.db, func(ctx context.Context, tx pgconn.Tx) error {
		clear(outcomes)
		locked, err := lockScopes(ctx, tx, tenantID, requests)
		if err != nil {
			return fmt.Errorf("lock idempotency keys: %w", err)
		}
		// Also without the lock: its holder may only be replaying a stored answer.
		if err := storedAnswers(ctx, tx, tenantID, requests, outcomes); err != nil {
			return fmt.Errorf("look for stored answers: %w", err)
		}
		var fresh []int
		for i := range outcomes {
			switch o := &outcomes[i]; {
			case o.Result.Replayed || o.Err != nil || first[i] != i:
			case !locked[i]:
				o.Err = catalog.ErrIdempotencyInProgress
			default:
				fresh = append(fresh, i)
			}
		}
		if len(fresh) > 0 {
			if err := create(ctx, tx, fresh); err != nil {
				return err
			}
		}
		if fresh = slices.DeleteFunc(fresh, func(i int) bool { return outcomes[i].Err != nil }); len(fresh) > 0 {
			if err := keepAnswers(ctx, tx, tenantID, requests, outcomes, fresh); err != nil {
				return fmt.Errorf("keep answers: %w", err)
			}
		}
		for i, f := range first {
			if o := &outcomes[i]; f != i && !o.Result.Replayed && o.Err == nil {
				*o = repeated(requests[i], requests[f], outcomes[f])
			}
		}
		return nil
	})
}

// firstOfKey returns, for each request, the place of the first with the same key.
func firstOfKey(requests []*catalog.Idempotency) []int {
	type key struct{ method, path, key string }
	places, first := map[key]int{}, make([]int, len(requests))
	for i, r := range requests {
		k := key{r.Method, r.Path, r.Key}
		if _, repeated := places[k]; !repeated {
			places[k] = i
		}
		first[i] = places[k]
	}
	return first
}

// repeated returns what becomes of a request whose key an earlier one of the same transaction has, which was answered, refused, or is in progress.
// One with another body may be made if it comes again after a refusal.
func repeated(r, first *catalog.Idempotency, o catalog.Outcome[catalog.Answered]) catalog.Outcome[catalog.Answered] {
	o.Result.Replayed = o.Err == nil
	switch {
	case r.Fingerprint == first.Fingerprint:
		return o
	case o.Err == nil:
		return catalog.Outcome[catalog.Answered]{Err: catalog.ErrIdempotencyKeyReused}
	}
	return catalog.Outcome[catalog.Answered]{Err: catalog.ErrIdempotencyInProgress}
}

// lockScopes returns which requests have their lock. Requests with the same key have the same.
func lockScopes(ctx context.Context, tx pgconn.Tx, tenantID int64, requests []*catalog.Idempotency) (locked []bool, err error) {
	scopes := make(pq.Int64Array, len(requests))
	for i, r := range requests {
		// No part contains a NUL, so different scopes have different texts.
		scope := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", tenantID, r.Method, r.Path, r.Key))
		scopes[i] = int64(binary.BigEndian.Uint64(scope[:]))
	}
	err = tx.Select(ctx, &locked, lockScopesQuery, tenantID, scopes)
	return locked, err
}

// storedAnswers sets the outcome of each request that was answered before.
func storedAnswers(
	ctx context.Context, tx pgconn.Tx, tenantID int64, requests []*catalog.Idempotency, outcomes []catalog.Outcome[catalog.Answered],
) error {
	var found []struct {
		catalog.Answer
		Place       int       `db:"place"` // from 1 on
		Fingerprint []byte    `db:"fingerprint"`
		ExpiresAt   time.Time `db:"expires_at"`
	}
	var methods, paths, keys pq.StringArray
	for _, r := range requests {
		methods, paths, keys = append(methods, r.Method), append(paths, r.Path), append(keys, r.Key)
	}
	if err := tx.Select(ctx, &found, storedAnswersQuery, tenantID, methods, paths, keys); err != nil {
		return err
	}
	for _, f := range found {
		r, o := requests[f.Place-1], &outcomes[f.Place-1]
		switch {
		case !f.ExpiresAt.After(r.At):
		case !bytes.Equal(f.Fingerprint, r.Fingerprint[:]):
			o.Err = catalog.ErrIdempotencyKeyReused
		default:
			o.Result = catalog.Answered{Answer: f.Answer, Replayed: true}
		}
	}
	return nil
}

// keepAnswers stores the answers of the requests at those places.
func keepAnswers(
	ctx context.Context, tx pgconn.Tx, tenantID int64, requests []*catalog.Idempotency, outcomes []catalog.Outcome[catalog.Answered], places []int,
) error {
	var methods, paths, keys, locations pq.StringArray
	var created, expire []time.Time
	var fingerprints, bodies pq.ByteaArray
	var statuses pq.Int64Array
	for _, i := range places {
		r, a := requests[i], outcomes[i].Result.Answer
		methods, paths, keys = append(methods, r.Method), append(paths, r.Path), append(keys, r.Key)
		created, expire = append(created, r.At), append(expire, r.At.Add(catalog.IdempotencyLifetime))
		fingerprints, bodies = append(fingerprints, r.Fingerprint[:]), append(bodies, a.Body)
		statuses, locations = append(statuses, int64(a.Status)), append(locations, a.Location)
	}
	stored, err := tx.Exec(ctx, keepAnswersQuery, tenantID, methods, paths, keys, pq.Array(created), pq.Array(expire),
		fingerprints, statuses, locations, bodies)
	if err == nil && stored != len(places) {
		err = errors.New("an answer is stored already")
	}
	return err
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
