package billing

import (
	"context"
	"encoding/json"
	"time"
)

// linesWithOverage adds the overage to the lines of linesQuery: that of each month that has a line
// here, less what sealed lines gave it. An assignment and a version have it in one line: the void
// one, if there is one. If there is none, the line has no requests.
const linesWithOverage = `counted as (
		    select * from own union all select * from late union all select * from taken
		  ), overages as (
		    select b.of, b.assignment, b.version, sum(b.overage)::bigint as overage
		    from (select distinct of, of >= m.begins as own from counted, month m) f
		    cross join month m
		    cross join lateral (
		      select f.of, o.assignment, o.version, o.overage
		      from usage_overage(t.id, (f.of at time zone 'UTC')::date, m.ends, coalesce(
		        (select c.void from usage_months c where c.month = $1),
		        array(select a.id from tenant_plans a where a.tenant_id = t.id and a.voided_at is not null))) o
		      union all
		      select * from (
		        select f.of, s.assignment, s.version, -(s.form::jsonb ->> 'overage')::bigint
		        from usage_lines s
		        where not f.own and s.tenant_id = t.id and s.month < $1
		          and coalesce(s.corrects, to_char(s.month, 'YYYY-MM')) = to_char(f.of at time zone 'UTC', 'YYYY-MM')
		        offset 0
		      ) s
		    ) b
		    where exists (select from periods where per_month is not null)
		    group by 1, 2, 3 having sum(b.overage) <> 0
		  ), placed as (
		    select *, row_number() over (partition by of, assignment, version order by void desc) as place
		    from counted
		    union all
		    select o.assignment, o.version, o.of, o.of, false, 0, 0, sha256(''), 1 from overages o
		    where not exists (
		      select from counted c where c.of = o.of and c.assignment = o.assignment and c.version = o.version)
		  ), lines as (
		    select c.*, coalesce(o.overage, 0) as overage,
		           (c.of at time zone 'UTC' + interval '1 month') at time zone 'UTC' as ends
		    from placed c
		    left join overages o
		      on c.place = 1 and o.of = c.of and o.assignment = c.assignment and o.version = c.version
		  )`

// overageRow is overage that counts in the hour At.
type overageRow struct {
	TenantID   int64     `db:"tenant_id"  json:"tenant_id"`
	Assignment int64     `db:"assignment" json:"assignment"`
	Hour       time.Time `db:"hour"       json:"hour"`
	Version    int64     `db:"version"    json:"version"`
	Overage    int64     `db:"overage"    json:"overage"`
	At         time.Time `db:"counted_at" json:"-"`
}

// openOverages begins to read the overage that counts in the hours of the run. It is computed by the
// month and read by the hour, so Postgres keeps it meanwhile: sorted, on disk if it is much.
func (r *eventRun) openOverages(ctx context.Context) error {
	r.ahead, r.atEnd = nil, false
	_, err := r.tx.Exec(ctx, `
		declare overages no scroll cursor for
		select o.tenant_id, o.assignment, o.hour, o.counted_at, max(o.version) as version,
		       sum(o.overage)::bigint as overage
		from usage_overage_counted o
		where o.counted_at >= $1 and o.counted_at < $2 and o.hour >= $3 and ($4::bigint = 0 or o.tenant_id = $4)
		  -- The months of which something counts in these hours.
		  and o.month >= (select least(
		    date_trunc('month', $1::timestamptz at time zone 'UTC'),
		    (select date_trunc('month', min(l.hour) at time zone 'UTC') from usage_late l
		     where l.month >= date_trunc('month', $1::timestamptz at time zone 'UTC')),
		    (select case when exists (select from tenant_plans v where v.voided_at >= $1) then min(m.month) end
		     from usage_months m)))
		group by o.tenant_id, o.assignment, o.hour, o.counted_at order by o.counted_at`,
		r.query.From, r.query.To, r.begins, r.tenantID)
	return err
}

func (r *eventRun) closeOverages(ctx context.Context) error {
	_, err := r.tx.Exec(ctx, `close overages`)
	return err
}

// overagesAt returns the overage that counts in the hour, as JSON. Each hour is later than the last.
func (r *eventRun) overagesAt(ctx context.Context, hour time.Time) (string, error) {
	rows := []overageRow{}
	for {
		for len(r.ahead) > 0 && !r.ahead[0].At.After(hour) {
			if r.ahead[0].At.Equal(hour) {
				rows = append(rows, r.ahead[0])
			}
			r.ahead = r.ahead[1:]
		}
		if len(r.ahead) > 0 || r.atEnd {
			break
		}
		r.ahead = nil
		if err := r.tx.Select(ctx, &r.ahead, `fetch 2000 from overages`); err != nil {
			return "", err
		}
		r.atEnd = len(r.ahead) == 0
	}
	list, err := json.Marshal(rows)
	return string(list), err
}
