package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/usage"
)

// Usage stores how many requests were admitted and refused, by hour.
type Usage struct{ db *pgconn.DB }

var _ usage.Store = Usage{}

const (
	// writerForgotten is how long a server's batch number is kept after its last batch: far longer than a batch is retried.
	writerForgotten = 7 * 24 * time.Hour
	// forgetWritersEvery is in batches.
	forgetWritersEvery = 5000
)

// WriteUsage implements usage.Store.
//
// The batch and its number are written in one transaction, so when a reply is lost the number shows that the batch was
// written. A first attempt that still runs in the database holds the writer's row, and the second waits for it. Servers lock
// shared rows in the same order. Counts of deleted keys, tenants and plans are left out.
func (d Usage) WriteUsage(ctx context.Context, b usage.Batch) error {
	err := d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		isNew, err := advanceWriter(ctx, tx, b)
		if err != nil || !isNew {
			return err
		}
		if err := addCounts(ctx, tx, b.Counts); err != nil {
			return err
		}
		if err := setLastUsed(ctx, tx, b.LastUsed); err != nil {
			return err
		}
		return forgetWriters(ctx, tx, b)
	})
	if err != nil {
		return fmt.Errorf("record usage: %w", err)
	}
	return nil
}

// advanceWriter stores the batch's number, and reports whether it is above the stored one.
func advanceWriter(ctx context.Context, tx pgconn.Tx, b usage.Batch) (isNew bool, err error) {
	rows, err := tx.Exec(ctx, `
		insert into usage_writers (server_id, batch, written_at) values ($1, $2, now())
		on conflict (server_id) do update set batch = excluded.batch, written_at = excluded.written_at
		where usage_writers.batch < excluded.batch`, b.ServerID, b.Number)
	return rows > 0, err
}

func addCounts(ctx context.Context, tx pgconn.Tx, counts []usage.Count) error {
	if len(counts) == 0 {
		return nil
	}
	n := len(counts)
	tenants, hours := make([]int64, n), make([]int64, n)
	keyIDs, plans := make([]string, n), make([]string, n)
	admitted, refused := make([]int64, n), make([]int64, n)
	for i, c := range counts {
		tenants[i], hours[i], keyIDs[i], plans[i] = c.TenantID, c.Hour, c.KeyID, c.Plan
		admitted[i], refused[i] = c.Admitted, c.Refused
	}
	_, err := tx.Exec(ctx, `
		insert into usage_hourly (tenant_id, hour, key_id, plan, admitted, refused)
		select c.tenant_id, to_timestamp(c.hour), c.key_id, c.plan, c.admitted, c.refused
		from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
		     as c (tenant_id, hour, key_id, plan, admitted, refused)
		join api_keys k on k.id = c.key_id and k.tenant_id = c.tenant_id
		join plans p on p.name = c.plan
		-- All servers lock shared rows in this order.
		order by 1, 2, 3, 4
		on conflict (tenant_id, hour, key_id, plan) do update set
		  admitted = usage_hourly.admitted + excluded.admitted,
		  refused = usage_hourly.refused + excluded.refused`,
		pq.Array(tenants), pq.Array(hours), pq.Array(keyIDs), pq.Array(plans), pq.Array(admitted), pq.Array(refused))
	return err
}

func setLastUsed(ctx context.Context, tx pgconn.Tx, uses []usage.KeyUse) error {
	if len(uses) == 0 {
		return nil
	}
	ids, micros := make([]string, len(uses)), make([]int64, len(uses))
	for i, u := range uses {
		ids[i], micros[i] = u.KeyID, u.At.UnixMicro()
	}
	_, err := tx.Exec(ctx, `
		with uses as (
		  select k.id, timestamptz 'epoch' + u.micros * interval '1 microsecond' as at
		  from unnest($1::text[], $2::bigint[]) as u (id, micros)
		  join api_keys k on k.id = u.id
		  -- A key that is being changed now is skipped until the next minute, so that nothing waits.
		  order by k.id for no key update of k skip locked
		)
		update api_keys k set last_used_at = uses.at
		from uses where k.id = uses.id and (k.last_used_at is null or k.last_used_at < uses.at)`,
		pq.Array(ids), pq.Array(micros))
	return err
}

// forgetWriters removes, with some batches, the numbers of servers that wrote none for writerForgotten.
func forgetWriters(ctx context.Context, tx pgconn.Tx, b usage.Batch) error {
	if b.Number%forgetWritersEvery != 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		delete from usage_writers where server_id in (
		  select server_id from usage_writers
		  where server_id <> $1 and written_at < now() - make_interval(secs => $2) for update skip locked
		)`, b.ServerID, writerForgotten.Seconds())
	return err
}

// AdmittedOn returns how many requests of each tenant are recorded as admitted on a UTC day, counted from 1 January 1970.
// Tenants without any are left out.
func (d Usage) AdmittedOn(ctx context.Context, day int64) (map[int64]int64, error) {
	var rows []struct {
		TenantID int64 `db:"tenant_id"`
		Admitted int64 `db:"admitted"`
	}
	from := time.Unix(0, 0).UTC().AddDate(0, 0, int(day))
	err := d.db.Select(ctx, &rows, `
		select tenant_id, sum(admitted)::bigint as admitted from usage_hourly
		where hour >= $1 and hour < $2
		group by tenant_id having sum(admitted) > 0`, from, from.AddDate(0, 0, 1))
	if err != nil {
		return nil, fmt.Errorf("sum the day's usage: %w", err)
	}
	used := make(map[int64]int64, len(rows))
	for _, r := range rows {
		used[r.TenantID] = r.Admitted
	}
	return used, nil
}
