package counters

import (
	"context"

	"github.com/lib/pq"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/store/pgconn"
)

// servers selects the servers that may have recorded usage. until is when one has stopped at the
// latest. A server records everything before it acknowledges a term or ends. One that has done
// neither in a term is silent. It writes at least every 10 seconds while it has unrecorded requests,
// and 20 more allow for a late write. It has stopped cluster.fenceTimeout after its last heartbeat.
const servers = `
  select least(u.written_at + interval '30 seconds', s.seen_at + (greatest(s.lease, 1000) * 1.4 + 600) * interval
      '1 ms') as until
  from usage_writers u left join servers s on s.id = u.server_id`

// recordedQuery reads the recorded usage of tenants' months, days and minutes, and of a key's
// minute: the latest windows within the given bounds. A row of usage_hourly holds two minutes. A
// request may be recorded in the hour before its minute. The term is $8.
const recordedQuery = `
with n as materialized (
  select i, tenant_id, key_id, minute, latest_minute, day, latest_day, month, latest_month, shift,
    to_timestamp(least(day * 86400, minute * 60 + shift - 7200)) as since
  from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
      $9::bigint[], $10::bigint[]) with ordinality
    d (tenant_id, key_id, day, latest_day, minute, latest_minute, shift, month, latest_month, i)
), latest as materialized (
  select n.i, n.tenant_id, n.key_id, n.since, greatest(n.day, l.day) as day, greatest(n.minute, l.minute) as minute,
      greatest(n.month, least(l.month, n.latest_month)) as month, n.shift
  from n cross join lateral (
    select max(least(h.minute, n.latest_minute)) filter (where h.admitted > 0) as minute,
      max(least(extract(epoch from h.hour)::bigint / 86400, n.latest_day)) filter (where h.admitted > 0) as day,
      max((extract(year from h.hour at time zone 'UTC')::bigint - 1970) * 12 +
        extract(month from h.hour at time zone 'UTC')::bigint - 1) filter (where h.admitted > 0) as month
    from usage_hourly h where h.tenant_id = n.tenant_id and h.hour >= n.since
  ) l
), w as materialized (
  select i, tenant_id, key_id, since, day, minute, month, to_timestamp(minute * 60 + shift) as begins,
    to_timestamp(day * 86400) as starts, to_timestamp((day + 1) * 86400) as ends,
    (date '1970-01-01' + month * interval '1 month') at time zone 'UTC' as month_starts,
    (date '1970-01-01' + (month + 1) * interval '1 month') at time zone 'UTC' as month_ends
  from latest
), silent as materialized (` + servers + `
  where u.written_at > (select least(min(month_starts), min(begins)) from w) - interval '30 seconds'
    and (s.acked is null or s.acked < $8)
)
select w.i - 1 as change, w.day, w.minute, w.month, coalesce(t.admitted, 0) as month_used,
  u.day_used, u.minute_used, u.key_used,
  (select count(*) from silent where until > w.starts) as day_silent,
  (select count(*) from silent where until > w.begins) as minute_silent,
  (select count(*) from silent where until > w.month_starts) as month_silent,
  coalesce(q.of_day, 0) as per_minute, coalesce(q.of_month, 0) as month_per_minute
from w cross join lateral (
  select max(p.per_minute) filter (where p.valid_from < w.ends and (p.valid_to is null or p.valid_to > w.starts))
      as of_day,
    max(p.per_minute) as of_month
  from quota_periods p
  where p.tenant_id = w.tenant_id and p.valid_from < w.month_ends
    and (p.valid_to is null or p.valid_to > w.month_starts)
) q
left join tenant_months t on t.tenant_id = w.tenant_id and t.month = (w.month_starts at time zone 'UTC')::date
cross join lateral (
  select coalesce(sum(h.admitted) filter (where h.hour >= w.starts and h.hour < w.ends), 0)::bigint as day_used,
    coalesce(sum(m.used), 0)::bigint as minute_used, coalesce(sum(m.used) filter (where h.key_id = w.key_id),
        0)::bigint as key_used
  from usage_hourly h cross join lateral (
    select case when h.minute = w.minute + 1 then h.in_previous when h.minute >= w.minute then h.in_minute end as used
  ) m
  where h.tenant_id = w.tenant_id and h.hour >= w.since
) u`

// readRecorded returns the recorded usage for the changes whose rules need it, by index. The rows
// are locked.
//
//nolint:funlen // one statement
func readRecorded(
	ctx context.Context, tx pgconn.Tx, t counter.Term, changes []*change, before map[limitKey]counter.Row,
) (map[int]counter.Recorded, error) {
	var of []int
	var tenants, days, latestDays, minutes, latestMinutes, shifts, months, latestMonths []int64
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
			months, latestMonths = append(months, w.Month), append(latestMonths, w.LatestMonth)
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
		Month        int64
		MonthUsed    int64 `db:"month_used"`
		DayUsed      int64 `db:"day_used"`
		MinuteUsed   int64 `db:"minute_used"`
		KeyUsed      int64 `db:"key_used"`
		PerMinute    int64 `db:"per_minute"`
		DaySilent    int64 `db:"day_silent"`
		MinuteSilent int64 `db:"minute_silent"`
		MonthSilent  int64 `db:"month_silent"`
		// MonthPerMinute is the highest limit in the month.
		MonthPerMinute int64 `db:"month_per_minute"`
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
		pq.Array(months),
		pq.Array(latestMonths),
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

			Month:          r.Month,
			MonthUsed:      r.MonthUsed,
			MonthSilent:    r.MonthSilent,
			MonthPerMinute: r.MonthPerMinute,
		}
	}
	return recorded, nil
}
