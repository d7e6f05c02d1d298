package catalogue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store/pgconn"
)

// Idempotency stores the responses to requests that carried an idempotency key.
type Idempotency struct{ db *pgconn.DB }

var _ catalog.OnceStore = Idempotency{}

// claimKeys says of each request, by its key, whether it is fresh. claimArgs are its arguments.
// names are the columns of what is asked for, which asked has in the order of the requests.
func claimKeys(names, asked string) string {
	return forTenant + `,
claimed as materialized (
  select * from rows from (
    claim_idempotency_keys((select id from t)::bigint, $2, $3, $4::bigint[], $5::text[], $6::bytea[],
        $7::timestamptz[]), ` + asked + `
  ) with ordinality as claimed (key, fingerprint, at, fresh, reused, stored_status, stored_location,
    stored_body, ` + names + `, place)
)`
}

var (
	// keepAnswers replaces answers that have expired and were not removed yet.
	keepAnswers = `
insert into idempotency_keys (tenant_id, method, path, key, created_at, expires_at, fingerprint, status, location, body)
select $1, $2, $3, key, at,
  at + interval '` + strconv.Itoa(int(catalog.IdempotencyLifetime/time.Second)) + ` seconds', fingerprint, status,
    location, body
from answered
on conflict (tenant_id, method, path, key) do update set
  created_at = excluded.created_at, expires_at = excluded.expires_at, fingerprint = excluded.fingerprint,
  status = excluded.status, location = excluded.location, body = excluded.body`

	claimKeyQuery = claimKeys("nothing", "unnest('{}'::text[])") + `
select fresh, reused, coalesce(stored_status, 0) as status, coalesce(stored_location, '') as location, stored_body as
	body from claimed`

	keepAnswerQuery = `
with answered as (
  select $4::text as key, $5::timestamptz as at, $6::bytea as fingerprint, $7::smallint as status, $8::text as
      location, $9::bytea as body
)` + keepAnswers
)

// onceQuery is the statement that does all that requests with keys ask for. making does it for
// those of claimed that are fresh, and made has them with what was made. body ends the answer,
// whose first member is the ID, and found says whether there is what a request is about.
func onceQuery(names, asked, making, made, body, found string) string {
	return claimKeys("rest, "+names, "unnest($10::text[], "+asked+")") + making + `,
answered as (
  select place, key, at, fingerprint, $8::smallint as status, $9::text || made.id as location,
         convert_to('{"id":' || made.id || ` + body + `, 'UTF8') as body
  from ` + made + `
),
kept as (` + keepAnswers + `)
select place, fresh, reused, coalesce(answered.status, stored_status, 0), coalesce(answered.location, stored_location,
	''),
       coalesce(answered.body, stored_body), ` + found + `
from claimed left join answered using (place)`
}

// creation is how fresh requests of a kind are served.
type creation[New, Created any] struct {
	query string
	// sample returns what is created, without what Postgres gives it: its ID, with which the
	// location ends and the body begins, and its time.
	sample func(New) Created
	// values are the arguments of the query after the tenth.
	values func([]New) []driver.Value
	// refusal is the error if nothing was created. err is that of the statement.
	refusal func(found bool, err error) error
}

var creatingPets = creation[catalog.NewPet, catalog.Pet]{
	// Animals for which the same was asked may swap their IDs, see createPetsQuery.
	query: onceQuery(PetNames, petList("${n}::{t}[]", 11), `,
wanted as (select *, row_number() over (partition by `+PetNames+` order by place) as nth from claimed where fresh),
created as (
  insert into pets (tenant_id, `+PetNames+`, created_at)
  select $1, `+PetNames+`,
         case when place < (select max(place) from wanted) or
           set_config('petstore.deadline', `+deadlineOf(11)+`, true) is not null then now() end
  from wanted
  returning id, `+PetNames+`
)`, `wanted join (select *, row_number() over (partition by `+PetNames+
		` order by id) as nth from created) made using (`+PetNames+`, nth)`, `rest`, `true`),
	sample: func(p catalog.NewPet) catalog.Pet { return catalog.Pet{NewPet: p} },
	values: func(asked []catalog.NewPet) (values []driver.Value) {
		return petArgs(func(c petColumn) driver.Value { return arrayOf(asked, c.value) })
	},
	refusal: func(_ bool, err error) error { return cmp.Or(err, pgconn.ErrNoRow) },
}

var placingOrders = creation[catalog.NewOrder, catalog.Order]{
	// Of several orders for an animal the first gets it.
	query: onceQuery(
		`id, quantity`,
		`$11::bigint[], $12::integer[]`,
		`,
wanted as (select distinct on (id) * from claimed where fresh order by id, place)`+placing(`wanted`, `$13`),
		`placed made join wanted on wanted.id = pet_id`,
		`replace(rest, '0001-01-01T00:00:00', rtrim(rtrim(to_char(created_at at time zone 'UTC', `+
			`'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.'))`,
		`id in (select id from locked)`,
	),
	sample: func(o catalog.NewOrder) catalog.Order {
		return catalog.Order{PetID: o.PetID, Quantity: o.Quantity, Status: catalog.Placed}
	},
	values: orderArgs,
	refusal: func(found bool, err error) error {
		_, err = placedOrder{PetFound: found}.order(catalog.NewOrder{}, err)
		return err
	},
}

// CreatePetOnce implements catalog.OnceStore.
func (d Idempotency) CreatePetOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewPet, catalog.Pet],
) (catalog.Answered, error) {
	outcome := d.CreatePetsOnce(ctx, tenantID, []catalog.Once[catalog.NewPet, catalog.Pet]{o})[0]
	return outcome.Result, outcome.Err
}

// CreatePetsOnce is CreatePetOnce for several requests, see onceEach.
func (d Idempotency) CreatePetsOnce(
	ctx context.Context, tenantID int64, asked []catalog.Once[catalog.NewPet, catalog.Pet],
) []catalog.Outcome[catalog.Answered] {
	return onceEach(ctx, d, tenantID, asked, creatingPets)
}

// PlaceOrderOnce implements catalog.OnceStore.
func (d Idempotency) PlaceOrderOnce(
	ctx context.Context,
	tenantID int64,
	o catalog.Once[catalog.NewOrder, catalog.Order],
) (catalog.Answered, error) {
	outcome := d.PlaceOrdersOnce(ctx, tenantID, []catalog.Once[catalog.NewOrder, catalog.Order]{o})[0]
	return outcome.Result, outcome.Err
}

// PlaceOrdersOnce is PlaceOrderOnce for several requests, see onceEach.
func (d Idempotency) PlaceOrdersOnce(
	ctx context.Context, tenantID int64, asked []catalog.Once[catalog.NewOrder, catalog.Order],
) []catalog.Outcome[catalog.Answered] {
	return onceEach(ctx, d, tenantID, asked, placingOrders)
}

// onceEach does what several requests of one endpoint ask for with one statement, which is sent at
// most once. If Postgres refuses it, each request is tried alone. After any other error the outcome
// is the same for all, and may be unknown. Of requests with the same key the first is the one that
// runs, and the others get its answer.
func onceEach[New, Created any](
	ctx context.Context, d Idempotency, tenantID int64, asked []catalog.Once[New, Created], c creation[New, Created],
) []catalog.Outcome[catalog.Answered] {
	return together(len(asked), func(outcomes []catalog.Outcome[catalog.Answered]) error {
		return c.once(ctx, d, tenantID, asked, outcomes)
	}, func(i int) (catalog.Answered, error) {
		var outcome [1]catalog.Outcome[catalog.Answered]
		if err := c.once(ctx, d, tenantID, asked[i:i+1], outcome[:]); err != nil {
			return catalog.Answered{}, c.refusal(true, err)
		}
		return outcome[0].Result, outcome[0].Err
	})
}

// once sets the outcomes, or returns the error of the statement.
func (c creation[New, Created]) once(
	ctx context.Context,
	d Idempotency,
	tenantID int64,
	asked []catalog.Once[New, Created],
	outcomes []catalog.Outcome[catalog.Answered],
) error {
	first := map[string]int{}
	var places []int
	var requests []*catalog.Idempotency
	var news []New
	var bodies pq.StringArray
	var template catalog.Answer
	for i := range asked {
		r := &asked[i].Request
		if _, again := first[r.Key]; again {
			continue
		}
		first[r.Key] = i
		answer, rest, err := c.template(&asked[i])
		if outcomes[i].Err = err; err == nil {
			places, requests, news, bodies = append(
				places,
				i,
			), append(
				requests,
				r,
			), append(
				news,
				asked[i].New,
			), append(
				bodies,
				rest,
			)
			template = answer // of one endpoint: the same of all
		}
	}
	if len(places) > 0 {
		all, _ := bodies.Value() // It does not fail.
		args := append(claimArgs(tenantID, requests), int64(template.Status), template.Location, all)
		err := pgconn.Write(ctx, d.db, func(row []driver.Value) error {
			o := &outcomes[places[row[0].(int64)-1]]
			fresh, reused := row[1].(bool), row[2] == true // or nil
			body, _ := row[5].([]byte)
			a := catalog.Answer{Status: int(row[3].(int64)), Location: row[4].(string), Body: bytes.Clone(body)}
			if o.Result, o.Err = claimedAs(fresh, reused, a); fresh && body == nil {
				o.Err = c.refusal(row[6].(bool), nil)
			}
			return nil
		}, c.query, append(args, c.values(news)...)...)
		if err != nil {
			return err
		}
	}
	for i := range asked {
		if f := first[asked[i].Request.Key]; f != i {
			outcomes[i] = repeated(&asked[i].Request, &asked[f].Request, outcomes[f])
		}
	}
	return nil
}

// template returns the answer to a fresh request: its location without the ID, and the rest of its
// body after it.
func (c creation[New, Created]) template(o *catalog.Once[New, Created]) (a catalog.Answer, rest string, err error) {
	created := c.sample(o.New)
	if a, err = o.Answer(&created); err != nil {
		return a, "", err
	}
	location, hasID := strings.CutSuffix(a.Location, "0")
	rest, begins := strings.CutPrefix(string(a.Body), `{"id":0`)
	if !hasID || !begins {
		err = fmt.Errorf("no place for the ID in %s %s", a.Location, a.Body)
	}
	a.Location = location
	return a, rest, err
}

// claimArgs are the first seven arguments of a statement for requests of one endpoint.
func claimArgs(tenantID int64, requests []*catalog.Idempotency) []driver.Value {
	var scopes, keys, fingerprints, times []driver.Value
	for _, r := range requests {
		// No part contains a NUL, so different scopes have different texts.
		scope := sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s\x00%s", tenantID, r.Method, r.Path, r.Key))
		scopes, keys = append(scopes, int64(binary.BigEndian.Uint64(scope[:]))), append(keys, r.Key)
		fingerprints, times = append(fingerprints, fmt.Sprintf(`\x%x`, r.Fingerprint)), append(times, r.At)
	}
	args := []driver.Value{tenantID, requests[0].Method, requests[0].Path}
	for _, list := range [][]driver.Value{scopes, keys, fingerprints, times} {
		array, _ := pq.GenericArray{A: list}.Value() // No such value fails.
		args = append(args, array)
	}
	return args
}

// claimedAs is what becomes of a request by what its key says.
func claimedAs(fresh, reused bool, a catalog.Answer) (catalog.Answered, error) {
	switch {
	case reused:
		return catalog.Answered{}, catalog.ErrIdempotencyKeyReused
	case !fresh && a.Body == nil:
		return catalog.Answered{}, catalog.ErrIdempotencyInProgress
	}
	return catalog.Answered{Answer: a, Replayed: !fresh}, nil
}

// Do has work make what the request asks for, unless an answer to it is stored, and stores the
// answer that work returns, as a catalog.OnceStore does.
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
		if err := tx.Get(
			ctx,
			&claimed,
			claimKeyQuery,
			anys(claimArgs(tenantID, []*catalog.Idempotency{r}))...); err != nil {
			return fmt.Errorf("claim idempotency key: %w", err)
		}
		if answered, err = claimedAs(
			claimed.Fresh,
			claimed.Reused.Bool,
			claimed.Answer,
		); err != nil ||
			answered.Replayed {
			return err
		}
		if answered.Answer, err = work(ctx, tx); err != nil {
			return err
		}
		a := &answered.Answer
		_, err = tx.Exec(
			ctx,
			keepAnswerQuery,
			tenantID,
			r.Method,
			r.Path,
			r.Key,
			r.At,
			r.Fingerprint[:],
			a.Status,
			a.Location,
			a.Body,
		)
		return err
	})
	if err != nil {
		return catalog.Answered{}, err
	}
	return answered, nil
}

// repeated returns what becomes of a request whose key an earlier one of the same statement has,
// which was answered, refused, or is in progress. One with another body may be made, or get a
// stored answer, if it comes again after a refusal.
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

// Prune removes at most limit answers that have expired at now. It returns how many it removed:
// fewer than limit when none is left. Servers may prune at the same time.
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
