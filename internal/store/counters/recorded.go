package counters

import (
	"context"

	"github.com/lib/pq"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/store/pgconn"
)

// recordedQuery reads what is recorded of tenants' days and minutes, and of a key's minute: of the
// latest ones between those that are given. A row of usage_hourly knows two minutes. A request may
// be recorded in the hour before that of its minute.
//
// A server is silent if it has not acknowledged the term $8 and has not ended: a server does either
// when it has recorded everything. It writes every 10 seconds at least while it admits requests
// that are not recorded, and 20 more allow for a late write; and it has stopped
// cluster.fenceTimeout after its last heartbeat.
const recordedQuery = `
with n as materialized (
  select i, tenant_id, key_id, minute, latest_minute, day, latest_day, shift,
    to_timestamp(least(day * 86400, minute * 60 + shift - 7200)) as since
  from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]) with
      ordinality
    d (tenant_id, key_id, day, latest_day, minute, latest_minute, shift, i)
), latest as materialized (
  select n.i, n.tenant_id, n.key_id, n.since, greatest(n.day, l.day) as day, greatest(n.minute, l.minute) as minute,
      n.shift
  from n cross join lateral (
    select max(least(h.minute, n.latest_minute)) filter (where h.admitted > 0) as minute,
      max(least(extract(epoch from h.hour)::bigint / 86400, n.latest_day)) filter (where h.admitted > 0) as day
    from usage_hourly h where h.tenant_id = n.tenant_id and h.hour >= n.since
  ) l
), w as materialized (
  select i, tenant_id, key_id, since, day, minute, to_timestamp(minute * 60 + shift) as begins,
    to_timestamp(day * 86400) as starts, to_timestamp((day + 1) * 86400) as ends
  from latest
), silent as materialized (
  select least(u.written_at + interval '30 seconds', s.seen_at + (greatest(s.lease, 1000) * 1.4 + 600) * interval
      '1 ms') as until
  from usage_writers u left join servers s on s.id = u.server_id
  where u.written_at > (select least(min(starts), min(begins)) from w) - interval '30 seconds' and (s.acked is null or
      s.acked < $8)
)
select w.i - 1 as change, w.day, w.minute, u.day_used, u.minute_used, u.key_used,
  (select count(*) from silent where until > w.starts) as day_silent,
  (select count(*) from silent where until > w.begins) as minute_silent,
  coalesce((
    select max(p.per_minute) from quota_periods p
    where p.tenant_id = w.tenant_id and p.valid_from < w.ends and (p.valid_to is null or p.valid_to > w.starts)
  ), 0) as per_minute
from w cross join lateral (
  select coalesce(sum(h.admitted) filter (where h.hour >= w.starts and h.hour < w.ends), 0)::bigint as day_used,
    coalesce(sum(m.used), 0)::bigint as minute_used, coalesce(sum(m.used) filter (where h.key_id = w.key_id),
        0)::bigint as key_used
  from usage_hourly h cross join lateral (
    select case when h.minute = w.minute + 1 then h.in_previous when h.minute >= w.minute then h.in_minute end as used
  ) m
  where h.tenant_id = w.tenant_id and h.hour >= w.since
) u`

// readRecorded returns what is recorded for the changes whose rules need it, by their index. The
// rows are locked.
//
//nolint:funlen // one statement
func readRecorded(
	ctx context.Context, tx pgconn.Tx, t counter.Term, changes []*change, before map[limitKey]counter.Row,
) (map[int]counter.Recorded, error) {
	var of []int
	var tenants, days, latestDays, minutes, latestMinutes, shifts []int64
	var keyIDs []string
	for i, c := range changes {
		tenant, ok := before[c.tenant]
		if !ok {
			continue
		}
		if w, needs := c.rows(tenant, before[c.key]).NeedsRecorded(t, c.claim, c.at); needs {
			of = append(of, i)
			tenants, keyIDs = append(tenants, c.claim.TenantID), append(keyIDs, c.claim.KeyID)
			days, latestDays = append(days, w.Day), append(latestDays, w.LatestDay)
			minutes, latestMinutes = append(minutes, w.Minute), append(latestMinutes, w.LatestMinute)
			shifts = append(shifts, limits.MinuteReset(c.claim.TenantID, w.Minute-1)-w.Minute*60)
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	var rows []struct {
		Change       int
		Day, Minute  int64
		DayUsed      int64 `db:"day_used"`
		MinuteUsed   int64 `db:"minute_used"`
		KeyUsed      int64 `db:"key_used"`
		PerMinute    int64 `db:"per_minute"`
		DaySilent    int64 `db:"day_silent"`
		MinuteSilent int64 `db:"minute_silent"`
	}
	err := tx.Select(
		ctx,
		&rows,
		recordedQuery,
		pq.Array(tenants),
		pq.Array(keyIDs),
		pq.Array(days),
		pq.Array(latestDays),
		pq.Array(minutes),
		pq.Array(latestMinutes),
		pq.Array(shifts),
		t.Number,
	)
	if err != nil {
		return nil, err
	}
	recorded := make(map[int]counter.Recorded, len(rows))
	for _, r := range rows {
		recorded[of[r.Change]] = counter.Recorded{
			Day:          r.Day,
			DayUsed:      r.DayUsed,
			Minute:       r.Minute,
			MinuteUsed:   r.MinuteUsed,
			KeyUsed:      r.KeyUsed,
			PerMinute:    r.PerMinute,
			DaySilent:    r.DaySilent,
			MinuteSilent: r.MinuteSilent,
		}
	}
	return recorded, nil
}
