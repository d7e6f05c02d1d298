package counters

import (
	"context"

	"github.com/lib/pq"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/store/pgconn"
)

// recordedQuery reads what is recorded of tenants' days and minutes, and of a key's minute. A row of usage_hourly knows two minutes. A
// request may be recorded in the hour before that of its minute.
//
// A server is silent if it has not acknowledged the term $6 and has not ended: a server does either when it has recorded everything. It
// writes every 10 seconds at least while it admits requests that are not recorded, and 20 more allow for a late write.
const recordedQuery = `
with n as materialized (
  select i, tenant_id, key_id, minute, to_timestamp(begins) as begins,
    to_timestamp(day * 86400) as starts, to_timestamp((day + 1) * 86400) as ends
  from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) with ordinality
    d (tenant_id, key_id, day, minute, begins, i)
), silent as materialized (
  select w.written_at + interval '30 seconds' as until from usage_writers w
  where w.written_at > (select least(min(starts), min(begins)) from n) - interval '30 seconds'
    and not exists (select from servers s where s.id = w.server_id and s.acked >= $6)
)
select n.i - 1 as change, n.minute as minute_number, u.used, u.minute, u.key, u.no_minute,
  (select count(*) from silent where until > n.starts) as silent,
  (select count(*) from silent where until > n.begins) as silent_minute,
  coalesce((
    select max(p.per_minute) from quota_periods p
    where p.tenant_id = n.tenant_id and p.valid_from < n.ends and (p.valid_to is null or p.valid_to > n.starts)
  ), 0) as per_minute
from n cross join lateral (
  select coalesce(sum(h.admitted) filter (where h.hour >= n.starts and h.hour < n.ends), 0)::bigint as used,
    coalesce(sum(case n.minute when h.minute then h.in_minute when h.minute - 1 then h.in_previous end), 0)::bigint as minute,
    coalesce(sum(case n.minute when h.minute then h.in_minute when h.minute - 1 then h.in_previous end)
      filter (where h.key_id = n.key_id), 0)::bigint as key,
    coalesce(bool_or(h.minute - 1 > n.minute), false) as no_minute
  from usage_hourly h where h.tenant_id = n.tenant_id and h.hour >= least(n.starts, n.begins - interval '2 hours')
) u`

// readRecorded returns what is recorded for the changes whose rules need it, by their index. The rows are locked.
func readRecorded(
	ctx context.Context, tx pgconn.Tx, t counter.Term, changes []*change, before map[limitKey]counter.Row,
) (map[int]counter.Recorded, error) {
	var of []int
	var tenants, days, minutes, begins []int64
	var keyIDs []string
	for i, c := range changes {
		tenant, ok := before[c.tenant]
		if !ok {
			continue
		}
		if minute, day, needs := c.rows(tenant, before[c.key]).NeedsRecorded(t, c.claim, c.at); needs {
			of = append(of, i)
			tenants, keyIDs, days = append(tenants, c.claim.TenantID), append(keyIDs, c.claim.KeyID), append(days, day)
			minutes, begins = append(minutes, minute), append(begins, limits.MinuteReset(c.claim.TenantID, minute-1))
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	var rows []struct {
		Change       int
		Used         int64
		PerMinute    int64 `db:"per_minute"`
		MinuteNumber int64 `db:"minute_number"`
		Minute, Key  int64
		NoMinute     bool `db:"no_minute"`
		Silent       int64
		SilentMinute int64 `db:"silent_minute"`
	}
	err := tx.Select(ctx, &rows, recordedQuery, pq.Array(tenants), pq.Array(keyIDs), pq.Array(days), pq.Array(minutes), pq.Array(begins), t.Number)
	if err != nil {
		return nil, err
	}
	recorded := make(map[int]counter.Recorded, len(rows))
	for _, r := range rows {
		if r.NoMinute {
			r.MinuteNumber = -1
		}
		recorded[of[r.Change]] = counter.Recorded{
			Used: r.Used, PerMinute: r.PerMinute, MinuteNumber: r.MinuteNumber, Minute: r.Minute, Key: r.Key,
			Silent: r.Silent, SilentMinute: r.SilentMinute,
		}
	}
	return recorded, nil
}
