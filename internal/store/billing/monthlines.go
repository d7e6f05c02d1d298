package billing

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/usage/closing"
)

// LineQuery selects lines of a month.
type LineQuery struct {
	Month time.Time
	// Tenant and Plan are names; empty for all.
	Tenant, Plan string

	// first computes lines as a month of closing.FirstFormat has them.
	first bool
}

// BillingRefs returns the tenants' present billing references, by number.
func (d Months) BillingRefs(ctx context.Context) (_ map[int64]string, err error) {
	defer pgconn.Wrap(&err, "read billing references")
	return pgconn.CollectMap[int64, string](
		ctx,
		d.db,
		`select id as key, billing_ref as value from tenants where billing_ref is not null`,
	)
}

// Lines calls each with every line and the hash of its canonical form, in the order of the tenants'
// numbers. The lines of a sealed month are the sealed ones; others show what is recorded so far.
// Memory holds one line. It returns plans.ErrTenantNotFound if there is no such tenant.
func (d Months) Lines(
	ctx context.Context,
	q LineQuery,
	sealed bool,
	each func(l *closing.Line, sum closing.Hash) error,
) error {
	tenant, err := tenants.NameOf(ctx, d.db, q.Tenant)
	q.Tenant = tenant
	switch {
	case err != nil:
	case sealed:
		err = d.sealedLines(ctx, q, func(s sealedLine) error {
			l, err := closing.Parse(s.Form)
			if err != nil {
				return fmt.Errorf("line %d of tenant %d: %w", s.Number, s.TenantID, err)
			}
			return each(&l, closing.Hash(s.SHA256))
		})
	default:
		err = d.computedLines(
			ctx,
			q,
			openLines,
			func(l *closing.Line, form string) error { return each(l, closing.Sum(form)) },
		)
	}
	if err != nil {
		return fmt.Errorf("read the lines of %s: %w", monthName(q.Month), err)
	}
	return nil
}

// sealedLine is a row of usage_lines.
type sealedLine struct {
	TenantID int64  `db:"tenant_id"`
	Number   int    `db:"number"`
	Form     string `db:"form"`
	SHA256   []byte `db:"sha256"`
	// Erased says that the tenant was erased. SHA256 is then the hash of the line with its name,
	// which is no longer known.
	Erased bool `db:"erased"`
}

func (d Months) sealedLines(ctx context.Context, q LineQuery, each func(sealedLine) error) error {
	return pgconn.Stream(ctx, d.db, each, `
		select l.tenant_id, l.number, l.form, l.sha256, exists (select from tenants t where t.id = l.tenant_id and
			t.erased_at is not null) as erased
		from usage_lines l
		where l.month = $1 and ($2 = '' or l.tenant_id = (select id from tenants where name = $2)) and ($3 = '' or
			l.form::jsonb ->> 'plan' = $3)
		order by l.tenant_id, l.number`, date(q.Month), q.Tenant, q.Plan)
}

type lineRow struct {
	TenantID     int64          `db:"tenant_id"`
	Tenant       string         `db:"tenant"`
	Plan         string         `db:"plan"`
	PerMinute    int64          `db:"per_minute"`
	PerDay       int64          `db:"per_day"`
	From         sql.NullTime   `db:"valid_from"`
	To           sql.NullTime   `db:"valid_to"`
	Admitted     int64          `db:"admitted"`
	Refused      int64          `db:"refused"`
	PerMonth     *int64         `db:"per_month"`
	OverageLimit *int64         `db:"overage_limit"`
	Overage      int64          `db:"overage"`
	Assignment   int64          `db:"assignment"`
	Version      int64          `db:"version"`
	Kind         string         `db:"kind"`
	Suspended    int64          `db:"suspended"`
	Corrects     sql.NullString `db:"corrects"`
	Void         bool           `db:"void"`
	Recorded     []byte         `db:"recorded"`
}

func (r lineRow) line(month string) closing.Line {
	l := closing.Line{
		Month:     month,
		TenantID:  r.TenantID,
		Tenant:    r.Tenant,
		Plan:      r.Plan,
		PerMinute: r.PerMinute,
		PerDay:    r.PerDay,
		From:      pgconn.TimeOf(r.From),
		To:        pgconn.TimeOf(r.To),
		Admitted:  r.Admitted,
		Refused:   r.Refused,
		PerMonth:  r.PerMonth, OverageLimit: r.OverageLimit, Overage: r.Overage,
		Assignment: r.Assignment,
		Version:    r.Version,
		Kind:       r.Kind,
		Suspended:  r.Suspended,
		Corrects:   r.Corrects.String,
		Void:       r.Void,
	}
	copy(l.Recorded[:], r.Recorded)
	return l
}

// These are the two forms of the query. For a closed month it includes each line's hash of what is
// recorded, which reads every row of the month. If the month's hours are summed into days, that
// hash can't be computed any more.
var (
	openLines   = linesQuery(`null::bytea`, `null::bytea`)
	closedLines = linesQuery(
		`case when not bool_or(u.by_day) then `+recordedHash(`u.hour, u.key_id collate "C"`)+` end`,
		recordedHash(`u.hour, u.key_id collate "C", u.id`),
	)
)

// recordedHash is the SHA-256 of the rows of a line: hour in Unix seconds, key, admitted, refused.
// It sorts them by these values, in an order that does not depend on a collation of the database.
func recordedHash(order string) string {
	return `sha256(convert_to(string_agg(
	    date_part('epoch', u.hour)::bigint || ' ' || u.key_id || ' ' || u.admitted || ' ' || u.refused || E'\n', ''
	        order by ` + order + `), 'UTF8'))`
}

// linesQuery computes the lines of the month $1, tenant by tenant. So it reads only the month's
// rows, and holds one tenant's.
func linesQuery(hash, lateHash string) string {
	return `
		select t.id as tenant_id, t.name as tenant, l.*
		from tenants t
		cross join lateral (
		  with month as (
		    select $1::date as month, $1::timestamp at time zone 'UTC' as begins, ($1::timestamp + interval '1 month')
		        at time zone 'UTC' as ends
		  ), used as (
		    select u.assignment, u.version, sum(u.admitted)::bigint as admitted, sum(u.refused)::bigint as
		      refused, ` + hash + ` as recorded
		    from usage_in_time u, month m where u.tenant_id = t.id and u.hour >= m.begins and u.hour < m.ends
		    group by 1, 2
		  ), periods as materialized (
		    select q.assignment, q.version, q.plan, q.kind, q.per_minute, q.per_day, q.per_month, q.overage_limit,
		        q.valid_from, q.valid_to
		    from quota_periods q where q.tenant_id = t.id
		  ), own as (
		    -- Where clocks disagree, requests may be recorded in a month before or after their period.
		    select assignment, version, m.begins as of, null::timestamptz as corrects, false as void,
		        coalesce(u.admitted, 0) as admitted,
		           coalesce(u.refused, 0) as refused, case when u.assignment is null then sha256('') else u.recorded
		               end as recorded
		    from periods p full join used u using (assignment, version) cross join month m
		    where u.assignment is not null or p.valid_from < m.ends and (p.valid_to is null or p.valid_to > m.begins)
		  ), late as (
		    select u.assignment, u.version, o.of, o.of as corrects, false as void,
		           sum(u.admitted)::bigint as admitted, sum(u.refused)::bigint as refused, ` + lateHash + ` as recorded
		    from usage_late u cross join month m cross join lateral (select date_trunc('month', u.hour, 'UTC') as of) o
		    where u.tenant_id = t.id and u.month = m.month
		    group by 1, 2, 3
		  ), taken as (
` + takenBack + `
		  ), ` + linesWithOverage + `
		  select coalesce(p.plan, a.plan, '') as plan, coalesce(p.per_minute, 0) as per_minute, coalesce(p.per_day, 0)
		      as per_day,
		         p.per_month, p.overage_limit, l.overage,
		         v.valid_from, v.valid_to, l.admitted, l.refused, l.assignment, l.version, coalesce(p.kind, a.kind,
		             '') as kind,
		         coalesce((
		           select floor(sum(extract(epoch from least(s.valid_to, v.valid_to, now()) - greatest(s.valid_from,
		               v.valid_from))))::bigint
		           from tenant_suspensions s
		           where s.tenant_id = t.id and l.corrects is null and s.valid_from < least(v.valid_to, now())
		             and (s.valid_to is null or s.valid_to > v.valid_from)
		         ), 0) as suspended,
		         to_char(l.corrects at time zone 'UTC', 'YYYY-MM') as corrects, l.void, case when $4 then l.recorded
		             end as recorded
		  from lines l left join periods p using (assignment, version) left join tenant_plans a on a.tenant_id = t.id
		      and a.id = l.assignment
		  cross join lateral (
		    select least(greatest(p.valid_from, l.of), l.ends) as valid_from, greatest(least(p.valid_to, l.ends),
		        l.of) as valid_to
		  ) v
		  -- A tenant that was erased has no line of what begins later, unless there is usage.
		  where t.erased_at is null or v.valid_from < t.erased_at or l.corrects is not null or l.admitted + l.refused
		      > 0
		) l
		where ($2 = '' or t.name = $2) and ($3 = '' or l.plan = $3)
		order by t.id, l.corrects nulls first, l.valid_from, l.assignment, l.version, l.void`
}

// takenBack is the usage that the month takes back because its assignment is void, or gives back
// because it no longer is. It is usage of the month itself and of sealed lines. Only one month at a
// time corrects sealed lines: the first open one.
const takenBack = `
		    select b.assignment, b.version, b.of, b.of as corrects, true as void, -sum(b.admitted)::bigint,
		        -sum(b.refused)::bigint, sha256('')
		    from (
		      select a.id as assignment, coalesce((select a.id = any(c.void) from usage_months c where c.month = $1),
		          a.voided_at is not null) as void
		      from tenant_plans a
		      where a.tenant_id = t.id and (a.voided_at is not null or a.id = any(array(select unnest(c.void) from
		          usage_months c)))
		    ) k
		    -- Nothing is looked up for others: while lines are sealed, the table grows from empty, for which Postgres
		    -- would plan to read it
		    -- whole for each tenant.
		    cross join lateral (
		      select assignment, version, of, void, admitted, refused from own where assignment = k.assignment
		      union all
		      select assignment, version, of, void, admitted, refused from late where assignment = k.assignment
		      union all
		      select * from (
		        select s.assignment, s.version, coalesce((s.corrects || '-01')::date, s.month)::timestamp at time zone
		            'UTC', s.void,
		               (s.form::jsonb ->> 'admitted')::bigint, (s.form::jsonb ->> 'refused')::bigint
		        from usage_lines s
		        where s.tenant_id = t.id and s.assignment = k.assignment and s.month < $1 and coalesce(
		          (select not exists (select from usage_months l where l.month > c.month and l.begun_at < c.begun_at)
		              from usage_months c where c.month = $1),
		          $1 = (closed_until() at time zone 'UTC')::date)
		        offset 0
		      ) s
		    ) b
		    where k.void or b.void
		    group by b.assignment, b.version, b.of, k.void
		    -- It is said once of what has no requests.
		    having sum(b.admitted) <> 0 or sum(b.refused) <> 0 or k.void and not bool_or(b.void)`

func (d Months) computedLines(
	ctx context.Context,
	q LineQuery,
	query string,
	each func(l *closing.Line, form string) error,
) error {
	month := monthName(q.Month)
	return pgconn.Stream(ctx, d.db, func(r lineRow) error {
		l := r.line(month)
		l.First = q.first
		form, err := l.Form()
		if err != nil {
			return err
		}
		return each(&l, form)
	}, query, date(q.Month), q.Tenant, q.Plan, query == closedLines)
}
