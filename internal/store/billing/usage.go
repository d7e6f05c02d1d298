package billing

import (
	"context"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/usage"
)

// Usage stores how many requests were admitted and refused, by hour.
type Usage struct{ db *pgconn.DB }

var _ usage.Store = Usage{}

// WriteUsage implements usage.Store. The API may only add to what is recorded, as the function does it. When a reply is lost,
// the batch's number shows that it was added.
func (d Usage) WriteUsage(ctx context.Context, b usage.Batch) (err error) {
	defer pgconn.Wrap(&err, "record usage")
	n := len(b.Counts)
	tenants, hours := make([]int64, n), make([]int64, n)
	keyIDs, assignments, versions := make([]string, n), make([]int64, n), make([]int64, n)
	admitted, refused := make([]int64, n), make([]int64, n)
	minutes, inMinute, inPrevious := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, c := range b.Counts {
		tenants[i], hours[i], keyIDs[i], assignments[i], versions[i] = c.TenantID, c.Hour, c.KeyID, c.Assignment, int64(c.Version)
		admitted[i], refused[i] = c.Admitted, c.Refused
		minutes[i], inMinute[i], inPrevious[i] = c.Minute, c.InMinute, c.InPrevious
	}
	used, micros := make([]string, len(b.LastUsed)), make([]int64, len(b.LastUsed))
	for i, u := range b.LastUsed {
		used[i], micros[i] = u.KeyID, u.At.UnixMicro()
	}
	delivered := int64(0)
	if !b.DeliveredTo.IsZero() {
		delivered = b.DeliveredTo.UnixMicro()
	}
	var added bool
	err = d.db.Get(ctx, &added, `select add_usage($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`, b.ServerID, b.Number, delivered,
		pq.Array(tenants), pq.Array(hours), pq.Array(keyIDs), pq.Array(assignments), pq.Array(versions), pq.Array(admitted), pq.Array(refused),
		pq.Array(minutes), pq.Array(inMinute), pq.Array(inPrevious), pq.Array(used), pq.Array(micros))
	return err
}

// EndUsage implements usage.Store.
func (d Usage) EndUsage(ctx context.Context, serverID string) (err error) {
	defer pgconn.Wrap(&err, "end usage")
	_, err = d.db.Exec(ctx, `select end_usage($1)`, serverID)
	return err
}

// AdmittedOn returns how many requests of each tenant are recorded as admitted on a UTC day, counted from 1 January 1970.
// Tenants without any are left out.
func (d Usage) AdmittedOn(ctx context.Context, day int64) (_ map[int64]int64, err error) {
	defer pgconn.Wrap(&err, "sum the day's usage")
	from := time.Unix(0, 0).UTC().AddDate(0, 0, int(day))
	return pgconn.CollectMap[int64, int64](ctx, d.db, `
		select tenant_id as key, sum(admitted)::bigint as value from usage_hourly
		where hour >= $1 and hour < $2
		group by tenant_id having sum(admitted) > 0`, from, from.AddDate(0, 0, 1))
}
