package billing

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/usage/events"
)

// Events hands recorded usage on to billing systems, and records what was sent.
type Events struct{ db *pgconn.DB }

var (
	// ErrReceiverFormat: the receiver was sent events in another format.
	ErrReceiverFormat = errors.New("this receiver got earlier events in another format")
	// ErrReceiverNew: nobody has named the receiver's first hour.
	ErrReceiverNew = errors.New("this receiver has got nothing yet")
)

// EventQuery selects usage to hand on.
type EventQuery struct {
	// From and To are whole hours. The query selects usage from From up to, but not including, To.
	// If From is zero, it selects usage that the receiver may not have yet; the receiver must then
	// not be new.
	From, To time.Time
	// Tenant is a tenant's name, empty for all.
	Tenant string
	// Receiver gets the events in Format. Events that it got before are left out, and events that
	// it gets now are recorded. It gets no corrections of hours before the earliest From of its
	// runs. If Receiver is empty, all usage is selected and nothing is recorded.
	Receiver string
	Format   events.Format
	// Waiting records the events with their bodies as waiting for Turn.Next, instead of as sent.
	Waiting bool
	// Now is the time of the run; To if it is zero.
	Now time.Time
}

// EventSink receives events.
type EventSink interface {
	// Write takes a page of events in ascending order, and returns the events that it has sent.
	Write([]events.Event) ([]events.Event, error)
	// Close returns nil when everything was written.
	Close() error
}

// eventPage is the number of events in memory at a time.
const eventPage = 2000

// Send passes usage to the sink, and records what the sink sends to q.Receiver. The record is
// committed after the sink was closed without an error; otherwise nothing is recorded. If the
// commit fails, the same events come again, with the same IDs.
//
// It returns plans.ErrTenantNotFound, a BusyError, ErrReceiverFormat, ErrReceiverNew, a BegunError
// or a ByDayError. Errors of the sink are returned unchanged.
func (d Events) Send(ctx context.Context, by audit.By, q EventQuery, sink EventSink) error {
	if q.Receiver == "" {
		return Turn{db: d.db}.Send(ctx, by, q, sink)
	}
	return d.Hold(ctx, by, q.Receiver, func(ctx context.Context, t Turn) error { return t.Send(ctx, by, q, sink) })
}

// Send is Events.Send for the receiver of the turn.
func (t Turn) Send(ctx context.Context, by audit.By, q EventQuery, sink EventSink) (err error) {
	defer pgconn.Wrap(&err, "hand on usage")
	err = trail.Run(ctx, t.db.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
		r, err := newEventRun(ctx, tx, q)
		if err != nil {
			return err
		}
		if err := r.run(ctx, sink); err != nil {
			return err
		}
		if err := sink.Close(); err != nil {
			return err
		}
		if err := r.end(ctx); err != nil {
			return err
		}
		if q.Receiver == "" || r.sent.Events == 0 {
			return nil
		}
		return trail.Write(
			tx,
			by,
			trail.Entry{Action: "usage.events", Subject: "receiver:" + q.Receiver, After: r.sent},
		)
	})
	return err
}

// sentRecord is the part of an audit entry about a run.
type sentRecord struct {
	Format   events.Format `json:"format"`
	From     time.Time     `json:"from"`
	To       time.Time     `json:"to"`
	TenantID int64         `json:"tenant_id,omitempty"`
	Events   int64         `json:"events"`
	Admitted int64         `json:"admitted"`
	Refused  int64         `json:"refused"`
	Overage  int64         `json:"overage,omitempty"`
}

// eventRun is one call of Send.
type eventRun struct {
	tx     pgconn.Tx
	query  EventQuery
	source uuid.UUID
	// TenantID is 0 for all tenants.
	tenantID int64
	// begins is the receiver's first hour; zero if there is none.
	begins time.Time
	// days is the beginning of the hours before From that are summed into days; zero for none.
	days time.Time
	// left is the first hour with usage left out; zero for none.
	left time.Time
	// ahead is overage that was read and counts later; atEnd says that it is all.
	ahead []overageRow
	atEnd bool
	sent  sentRecord
}

func newEventRun(ctx context.Context, tx pgconn.Tx, q EventQuery) (*eventRun, error) {
	r := &eventRun{tx: tx, query: q}
	// Without sequential scans, a generic plan made while sent_events was small can't read all of
	// it later. The transaction may be idle for as long as the sink takes, because no change waits
	// for it until it writes its audit entry.
	_, err := tx.Exec(
		ctx,
		`set local enable_seqscan = off; set local idle_in_transaction_session_timeout to default`,
	)
	if err != nil {
		return nil, err
	}
	if err := tx.Get(ctx, &r.source, `select id from event_source`); err != nil {
		return nil, err
	}
	if r.tenantID, err = tenants.IDOf(ctx, tx, q.Tenant); err != nil {
		return nil, err
	}
	if q.Receiver != "" {
		if err := r.begin(ctx); err != nil {
			return nil, err
		}
	}
	r.sent = sentRecord{Format: q.Format, From: r.query.From, To: q.To, TenantID: r.tenantID}
	return r, hoursSince(ctx, tx, r.query.From)
}

// run passes the events to the sink, hour by hour: each statement reads at most one hour.
func (r *eventRun) run(ctx context.Context, sink EventSink) error {
	if err := r.runDays(ctx, sink); err != nil {
		return err
	}
	if err := r.openOverages(ctx); err != nil {
		return err
	}
	for hour := r.query.From; ; hour = hour.Add(time.Hour) {
		var err error
		if hour, err = r.nextHour(ctx, hour); err != nil {
			return err
		}
		if hour.IsZero() {
			return r.closeOverages(ctx)
		}
		overages, err := r.overagesAt(ctx, hour)
		if err != nil {
			return err
		}
		for last := (eventRow{}); ; {
			page, err := r.page(ctx, hour, last, overages)
			if err != nil {
				return err
			}
			list, err := r.events(page, hour)
			if err != nil {
				return err
			}
			if err := r.write(ctx, sink, hour, list); err != nil {
				return err
			}
			if len(page) < eventPage {
				break
			}
			last = page[len(page)-1]
		}
	}
}

// write passes events of an hour to the sink, and records what the sink sends.
func (r *eventRun) write(ctx context.Context, sink EventSink, at time.Time, list []events.Event) error {
	sent, err := sink.Write(list)
	if err != nil {
		return err
	}
	counted := 0
	for _, e := range list {
		if r.query.Format.Counts(e) {
			counted++
		}
	}
	if len(sent) < counted && r.left.IsZero() {
		r.left = at
	}
	state := Arrived
	if r.query.Waiting {
		state = Waiting
	}
	if err := r.record(ctx, sent, state); err != nil {
		return err
	}
	balance := *r
	balance.query.Format = "" // Nobody gets them.
	return balance.record(ctx, balancing(sent, at), Unsent)
}

// movedEvents is the number of events for usage that counts in a later hour: its own, and two that
// balance it.
const movedEvents = 3

// balancing returns events without a format for what counts in another hour than at. A run compares
// the usage of an hour with the events that count in it: the new events make both hours equal.
func balancing(sent []events.Event, at time.Time) (list []events.Event) {
	for _, e := range sent {
		if e.At.Equal(at) {
			continue
		}
		there := e
		there.Admitted, there.Refused, there.Overage = -e.Admitted, -e.Refused, -e.Overage
		there.Correction++
		e.At, e.Correction = at, e.Correction+2
		list = append(list, there, e)
	}
	return list
}

// lateCountedAt computes usage_counted.counted_at for a row of usage_late, written as in the index.
const lateCountedAt = `(least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - ` +
	`interval '1 hour') at time zone 'UTC')`

// nextHour returns the first hour from hour on for which usage was counted or sent; zero for none.
func (r *eventRun) nextHour(ctx context.Context, hour time.Time) (time.Time, error) {
	var next sql.NullTime
	err := r.tx.Get(ctx, &next, `
		select least(
		  (select min(u.hour) from usage_hourly u where u.hour >= $1 and u.hour < $2),
		  (select min(s.hour) from sent_events s where s.receiver = $3 and s.hour >= $1 and s.hour < $2),
		  (select min(`+lateCountedAt+`) from usage_late where `+lateCountedAt+` >= $1 and `+lateCountedAt+` < $2),
		  (select date_trunc('hour', min(a.voided_at), 'UTC') from tenant_plans a where a.voided_at >= $1 and
		      a.voided_at < $2),
		  (select min(s.counted_at) from sent_events s
		   where s.receiver = $3 and s.counted_at >= $1 and s.counted_at < $2 and s.counted_at <> s.hour))`,
		hour, r.query.To, r.query.Receiver)
	return pgconn.TimeOf(next), err
}

type eventRow struct {
	TenantID   int64     `db:"tenant_id"`
	Tenant     string    `db:"tenant"`
	BillingRef string    `db:"billing_ref"`
	Hour       time.Time `db:"hour"`
	Assignment int64     `db:"assignment"`
	Began      time.Time `db:"began"`
	Plan       string    `db:"plan"`
	Version    int64     `db:"version"`
	Admitted   int64     `db:"admitted"`
	Refused    int64     `db:"refused"`
	Overage    int64     `db:"overage"`
	Correction int64     `db:"correction"`
	// Balances is JSON: the hour's requests that each reference got, the latest reference first.
	Balances string `db:"balances"`
	// At is the hour in which the receiver counts it.
	At time.Time `db:"at"`
}

// page returns the usage of the hour after the last page: what is recorded, less what was sent.
// overages is the overage that counts in the hour, as JSON.
//
//nolint:funlen // one statement
func (r *eventRun) page(
	ctx context.Context, at time.Time, last eventRow, overages string,
) (page []eventRow, err error) {
	err = r.tx.Select(ctx, &page, `
		select case when moved.is then $9 else $1::timestamptz end as at, e.tenant_id, e.assignment, e.hour, e.version,
		       c.admitted, c.refused, c.overage,
		       t.name as tenant, coalesce(t.billing_ref, '') as billing_ref, a.plan, a.valid_from as began,
		       s.balances,
		       coalesce(s.correction,
		         -- The first event of the hour has 0, whether or not it is sent: late usage is always a correction.
		         case when e.hour < $1 then
		           (select 1 + count(distinct u.counted_at) from usage_counted u
		            where u.tenant_id = e.tenant_id and u.hour = e.hour and u.assignment = e.assignment
		              and u.counted_at > u.hour and u.counted_at < $1)
		         end, 0) as correction
		from (
		  select u.tenant_id, u.assignment, h.hour, h.last, max(u.version) as version, sum(u.admitted)::bigint as
		      admitted, sum(u.refused)::bigint as refused, sum(u.overage)::bigint as overage
		  from (
		    select u.tenant_id, u.assignment, u.hour, u.version, u.admitted, u.refused, 0 as overage
		    from usage_requests_counted u
		    where u.counted_at = $1 and u.hour >= $8 and u.tenant_id >= $2 and ($5::bigint = 0 or u.tenant_id = $5)
		    union all
		    select s.tenant_id, s.assignment, s.hour, s.version, -s.admitted, -s.refused, -s.overage
		    from sent_events s
		    where s.receiver = $6 and s.hour = $1 and s.counted_at = $1 and s.tenant_id >= $2 and ($5::bigint = 0 or
		        s.tenant_id = $5)
		    union all
		    select s.tenant_id, s.assignment, s.hour, s.version, -s.admitted, -s.refused, -s.overage
		    from sent_events s
		    where s.receiver = $6 and s.counted_at = $1 and s.counted_at <> s.hour and s.tenant_id >= $2 and
		        ($5::bigint = 0 or s.tenant_id = $5)
		    union all
		    select o.tenant_id, o.assignment, o.hour, o.version, 0, 0, o.overage
		    from json_to_recordset($10) as o (tenant_id bigint, assignment bigint, hour timestamptz, version integer,
		        overage bigint)
		    where o.tenant_id >= $2
		  ) u
		  -- A correction by hour is by day once its month is.
		  cross join lateral (
		    select u.hour, u.hour as last where coalesce(u.hour >= (select by_day_until()), true)
		    union all
		    select d, d + interval '23 hours' from date_trunc('day', u.hour, 'UTC') d where u.hour < (select
		        by_day_until())
		  ) h
		  where (u.tenant_id, u.assignment, h.hour) > ($2, $3, $4)
		  group by u.tenant_id, u.assignment, h.hour, h.last
		  having sum(u.admitted) <> 0 or sum(u.refused) <> 0 or sum(u.overage) <> 0
		) e
		cross join lateral (
		  select max(b.correction) + 1 as correction, coalesce(sum(b.admitted), 0)::bigint as admitted,
		         coalesce(sum(b.refused), 0)::bigint as refused, coalesce(sum(b.overage), 0)::bigint as overage,
		         coalesce(json_agg(b order by b.last desc), '[]')::text as balances
		  from (
		    select s.billing_ref, max(s.correction) filter (where s.hour = e.hour) as correction,
		           sum(s.admitted) as admitted, sum(s.refused) as refused, sum(s.overage) as overage,
		           coalesce(max(s.number) filter (where s.admitted > 0 or s.refused > 0), 0) as last
		    from sent_events s
		    -- A range: for a list of hours Postgres may read all hours of the receiver.
		    where s.receiver = $6 and s.hour >= e.hour and s.hour <= e.last and s.tenant_id = e.tenant_id
		      and s.assignment = e.assignment
		    group by s.billing_ref
		  ) b
		) s
		cross join lateral (
		  select max(w.until) > $1 as given_up from usage_waivers w
		  where $6 <> '' and w.tenant_id = e.tenant_id and w.receiver in ($6, '')
		) w
		-- Of what was left out nothing is taken back, and nothing is added to what was given up.
		cross join lateral (
		  select case when $6 = '' then e.admitted else greatest(e.admitted, -s.admitted) end as admitted,
		         case when $6 = '' then e.refused else greatest(e.refused, -s.refused) end as refused,
		         case when $6 = '' then e.overage else greatest(e.overage, -s.overage) end as overage
		) d
		cross join lateral (
		  select case when w.given_up then least(d.admitted, 0) else d.admitted end as admitted,
		         case when w.given_up then least(d.refused, 0) else d.refused end as refused,
		         case when w.given_up then least(d.overage, 0) else d.overage end as overage
		) c
		-- What was sent of a tenant that is gone stays sent.
		join tenants t on t.id = e.tenant_id
		join tenant_plans a on a.tenant_id = e.tenant_id and a.id = e.assignment
		-- The mark of a void assignment was removed after the month was closed with it: an open month has the usage,
		-- and the overage of the tenant's other assignments.
		cross join lateral (
		  select $6 <> '' and exists (
		    select from usage_months m join tenant_plans v on v.tenant_id = e.tenant_id and v.id = any (m.void)
		    where m.month = date_trunc('month', $1::timestamptz at time zone 'UTC')::date
		      and (v.voided_at is null or v.voided_at >= m.begun_at)
		      and (v.id = a.id or c.admitted = 0 and c.refused = 0)
		  ) as is
		) moved
		where c.admitted <> 0 or c.refused <> 0 or c.overage <> 0
		order by e.tenant_id, e.assignment, e.hour limit $7`,
		at, last.TenantID, last.Assignment, last.Hour, r.tenantID, r.query.Receiver, eventPage, r.begins,
		cmp.Or(r.query.Now, r.query.To).Truncate(time.Hour), overages)
	return page, err
}
