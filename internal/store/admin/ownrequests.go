package admin

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/usage"
)

var _ usage.FailedReader = FailedRequests{}

// The API's role reads failed requests only through a function, which asks for the tenant.
const ownFailed = failedColumns + ` from failed_requests_of($1, $2, $3, $4, $5, $6, $7, $8, $9)`

// ListFailed implements usage.FailedReader.
func (d FailedRequests) ListFailed(
	ctx context.Context,
	tenantID int64,
	p usage.FailedPage,
) (list []usage.FailedRequest, more bool, err error) {
	defer pgconn.Wrap(&err, "list a tenant's failed requests")
	var statuses []int64
	var codes []string
	if p.Kinds != nil {
		statuses, codes = []int64{}, []string{}
	}
	for _, k := range p.Kinds {
		statuses, codes = append(statuses, int64(k.Status)), append(codes, k.Code)
	}
	before, low := p.Before()
	list, err = pgconn.Collect(ctx, d.db, failedRow.failedRequest, `select `+ownFailed,
		tenantID, "", p.KeyID, pq.Array(statuses), pq.Array(codes), p.Since, before, low, p.Limit+1)
	more = len(list) > p.Limit
	return list[:min(len(list), p.Limit)], more, err
}

// GetFailed implements usage.FailedReader.
func (d FailedRequests) GetFailed(
	ctx context.Context,
	tenantID int64,
	id string,
	since, now time.Time,
) (detail usage.FailedDetail, err error) {
	defer pgconn.Wrap(&err, "get a tenant's failed request")
	var row struct {
		failedRow
		LiftedAt    sql.NullTime `db:"lifted_at"`
		BannedUntil sql.NullTime `db:"banned_until"`
		FullUntil   sql.NullTime `db:"full_until"`
	}
	err = pgconn.GetOr(ctx, d.db, &row, usage.ErrFailedNotFound, `select lifted_at, banned_until,
		case when f.code = 'key_banned' then (
		  select r.resets_at from failed_requests_of($1, '', f.key_id, '{429,429,429}',
		      '{rate_limit_exceeded,daily_quota_exceeded,monthly_quota_exceeded}', $6, f.at, 0, 100) r
		  where r.limited_by <> '' order by r.at desc limit 1) end as full_until, `+ownFailed+` f
		cross join lateral ban_of_key($1, f.key_id, case when f.code = 'key_banned' then f.resets_at end)`,
		tenantID, id, "", nil, nil, since, now, 0, 1)
	detail = usage.FailedDetail{
		FailedRequest: row.failedRequest(),
		LiftedAt:      pgconn.TimeOf(row.LiftedAt),
		BannedUntil:   pgconn.TimeOf(row.BannedUntil),
		FullUntil:     pgconn.TimeOf(row.FullUntil),
	}
	if err == nil && detail.Window != "" {
		detail.RefusedBy, err = d.readUse(ctx, &detail.FailedRequest)
	}
	if err == nil && (detail.Window == "minute" || detail.Window == "day" || detail.Window == "month") {
		detail.Hours, err = d.ReplayHours(ctx, tenantID, now)
	}
	return detail, err
}

// ReplayHours implements usage.FailedReader.
func (d FailedRequests) ReplayHours(
	ctx context.Context,
	tenantID int64,
	now time.Time,
) (hours []usage.Hour, err error) {
	defer pgconn.Wrap(&err, "read a tenant's hours")
	err = d.db.Select(ctx, &hours, `
		select u.hour as at, sum(requests)::bigint as requests, sum(refused)::bigint as refused,
		       coalesce(sum(least(refused, greatest(0, requests - $3 * k.per_minute::numeric))), 0)::bigint as own
		from (
		  select hour, key_id, sum(admitted + refused)::bigint as requests, sum(refused)::bigint as refused
		  from usage_hourly where tenant_id = $1 and hour >= $2 group by hour, key_id
		) u
		left join key_limits_of($1) k using (key_id)
		group by u.hour order by u.hour`,
		tenantID, now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-usage.ReplayDays), usage.MinutesOfHour)
	return hours, err
}

// readUse reads each key's use of the window that refused the request. For each key and hour, only
// the last minute and the one before it are recorded.
func (d FailedRequests) readUse(ctx context.Context, f *usage.FailedRequest) (*usage.RefusingWindow, error) {
	to, exact := time.Unix(f.Reset, 0).UTC(), false
	var from time.Time
	switch f.Window {
	case "day":
		from = to.AddDate(0, 0, -1)
	case "month":
		from = to.AddDate(0, -1, 0)
	default:
		from, exact = to.Add(-time.Minute), true
	}
	w := &usage.RefusingWindow{
		Name:  f.Window,
		Limit: f.Limit,
		From:  from.Truncate(time.Hour),
		To:    to.Add(-1).Truncate(time.Hour).Add(time.Hour),
		Used:  []usage.UsedByKey{},
	}
	var rows []struct {
		usage.UsedByKey
		InMinute int64 `db:"in_minute"`
		Over     bool  `db:"over"`
	}
	err := d.db.Select(ctx, &rows, `
		select u.id, u.name, u.admitted, coalesce(m.in_minute, 0) as in_minute, coalesce(m.over, false) as over
		from (
		  select key_id as id, max(key_name) as name, sum(admitted)::bigint as admitted
		  from month_usage($1, $2, $3) where not corrects group by key_id
		) u
		left join (
		  select key_id as id, sum(case minute when $4 then in_minute when $4 + 1 then in_previous else 0 end)::bigint
		      as in_minute, max(minute) > $4 + 1 as over
		  from usage_hourly where tenant_id = $1 and hour >= $2 and hour < $3 group by key_id
		) m using (id)`, f.TenantID, w.From, w.To, to.Unix()/60-1)
	for _, r := range rows {
		exact = exact && !r.Over
	}
	if exact {
		w.From, w.To = from, to
	}
	for _, r := range rows {
		if exact {
			r.Admitted = r.InMinute
		}
		if r.Admitted > 0 && (f.Window != "key" || r.ID == f.KeyID) {
			w.Used = append(w.Used, r.UsedByKey)
		}
	}
	slices.SortFunc(w.Used, func(a, b usage.UsedByKey) int {
		return cmp.Or(cmp.Compare(b.Admitted, a.Admitted), cmp.Compare(a.ID, b.ID))
	})
	return w, err
}
