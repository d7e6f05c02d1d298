package billing

import (
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
	// ErrReceiverNew: nobody has named the first hour of the receiver.
	ErrReceiverNew = errors.New("this receiver has got nothing yet")
)

// EventQuery selects usage to hand on.
type EventQuery struct {
	// From and To are whole hours. Usage counts from From up to, but not including, To. From is zero
	// for what the receiver, which is not new, may not have yet.
	From, To time.Time
	// Tenant is a tenant's name, empty for all.
	Tenant string
	// Receiver gets the events in Format. Events that it got before are left out, and those that it
	// gets now are recorded. It gets no corrections of hours before the earliest From of its runs.
	// If Receiver is empty, all usage is selected, and nothing is recorded.
	Receiver string
	Format   events.Format
	// Waiting: the events are recorded with their bodies, for Turn.Next, and not as sent.
	Waiting bool
}

// EventSink takes events.
type EventSink interface {
	// Write takes a page of events in ascending order, and returns those that it sends.
	Write([]events.Event) ([]events.Event, error)
	// Close returns nil when everything was written.
	Close() error
}

// eventPage is how many events are in memory at a time.
const eventPage = 2000

// Send passes usage to the sink, and records what the sink sends to q.Receiver. The record is
// committed after the sink was closed without an error; otherwise nothing is recorded. If the
// commit fails, the same events come again, with the same IDs.
//
// It returns plans.ErrTenantNotFound, a BusyError, ErrReceiverFormat, ErrReceiverNew or a
// ByDayError, and the errors of the sink as they are.
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

// sentRecord is what an audit entry holds of a run.
type sentRecord struct {
	Format   events.Format `json:"format"`
	From     time.Time     `json:"from"`
	To       time.Time     `json:"to"`
	TenantID int64         `json:"tenant_id,omitempty"`
	Events   int64         `json:"events"`
	Admitted int64         `json:"admitted"`
	Refused  int64         `json:"refused"`
}

// eventRun is one call of Send.
type eventRun struct {
	tx     pgconn.Tx
	query  EventQuery
	source uuid.UUID
	// TenantID is 0 for all tenants.
	tenantID int64
	// begins is the first hour that is the receiver's; zero if there is none.
	begins time.Time
	sent   sentRecord
}

func newEventRun(ctx context.Context, tx pgconn.Tx, q EventQuery) (*eventRun, error) {
	r := &eventRun{tx: tx, query: q}
	// A plan that was made while sent_events was small must not read it whole when it has grown.
	// The sink may take any time, and no change waits for this transaction until it writes its
	// audit entry.
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

// run passes the events to the sink, hour by hour: each statement reads at most one.
func (r *eventRun) run(ctx context.Context, sink EventSink) error {
	state := Arrived
	if r.query.Waiting {
		state = Waiting
	}
	for hour := r.query.From; ; hour = hour.Add(time.Hour) {
		var err error
		if hour, err = r.nextHour(ctx, hour); err != nil || hour.IsZero() {
			return err
		}
		for last := (eventRow{}); ; {
			page, err := r.page(ctx, hour, last)
			if err != nil {
				return err
			}
			list, err := r.events(page)
			if err != nil {
				return err
			}
			sent, err := sink.Write(list)
			if err != nil {
				return err
			}
			if err := r.record(ctx, sent, state); err != nil {
				return err
			}
			if len(page) < eventPage {
				break
			}
			last = page[len(page)-1]
		}
	}
}

// lateCountedAt is counted_at of usage_counted for usage_late, as an index has it.
const lateCountedAt = `(least(date_trunc('hour', arrived_at at time zone 'UTC'), month + interval '1 month' - ` +
	`interval '1 hour') at time zone 'UTC')`

// nextHour returns the first hour from that one on to which something was counted or sent; zero for
// none.
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
	Correction int64     `db:"correction"`
	// Balances are what each reference got of the hour, as JSON, the last first.
	Balances string `db:"balances"`
	// At is the hour to which the receiver counts it.
	At time.Time `db:"at"`
}

// page returns what is counted to the hour, after the last one: what is recorded, less what was sent.
//
//nolint:funlen // one statement
func (r *eventRun) page(ctx context.Context, at time.Time, last eventRow) (page []eventRow, err error) {
	err = r.tx.Select(ctx, &page, `
		select $1::timestamptz as at, e.tenant_id, e.assignment, e.hour, e.version, c.admitted, c.refused,
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
		  select u.tenant_id, u.assignment, h.hour, h.hours, max(u.version) as version, sum(u.admitted)::bigint as
		      admitted, sum(u.refused)::bigint as refused
		  from (
		    select u.tenant_id, u.assignment, u.hour, u.version, u.admitted, u.refused from usage_counted u
		    where u.counted_at = $1 and u.hour >= $8 and u.tenant_id >= $2 and ($5::bigint = 0 or u.tenant_id = $5)
		    union all
		    select s.tenant_id, s.assignment, s.hour, s.version, -s.admitted, -s.refused from sent_events s
		    where s.receiver = $6 and s.hour = $1 and s.counted_at = $1 and s.tenant_id >= $2 and ($5::bigint = 0 or
		        s.tenant_id = $5)
		    union all
		    select s.tenant_id, s.assignment, s.hour, s.version, -s.admitted, -s.refused from sent_events s
		    where s.receiver = $6 and s.counted_at = $1 and s.counted_at <> s.hour and s.tenant_id >= $2 and
		        ($5::bigint = 0 or s.tenant_id = $5)
		  ) u
		  -- Usage that was taken back by hour when its assignment was marked void is by day once its month is.
		  left join tenant_plans v on v.tenant_id = u.tenant_id and v.id = u.assignment
		    and v.voided_at >= $1 and v.voided_at < $1::timestamptz + interval '1 hour' and u.hour < (select
		        by_day_until())
		  cross join lateral (
		    select u.hour, array[u.hour] as hours where v.id is null
		    union all
		    select d, array(select generate_series(d, d + interval '23 hours', '1 hour')) from date_trunc('day',
		        u.hour, 'UTC') d where v.id is not null
		  ) h
		  where (u.tenant_id, u.assignment, h.hour) > ($2, $3, $4)
		  group by u.tenant_id, u.assignment, h.hour, h.hours
		  having sum(u.admitted) <> 0 or sum(u.refused) <> 0
		) e
		cross join lateral (
		  select max(b.correction) + 1 as correction, coalesce(sum(b.admitted), 0)::bigint as admitted,
		         coalesce(sum(b.refused), 0)::bigint as refused,
		         coalesce(json_agg(b order by b.last desc), '[]')::text as balances
		  from (
		    select s.billing_ref, max(s.correction) filter (where s.hour = e.hour) as correction,
		           sum(s.admitted) as admitted, sum(s.refused) as refused,
		           coalesce(max(s.number) filter (where s.admitted > 0 or s.refused > 0), 0) as last
		    from sent_events s
		    where s.receiver = $6 and s.hour = any(e.hours) and s.tenant_id = e.tenant_id
		      and s.assignment = e.assignment
		    group by s.billing_ref
		  ) b
		) s
		-- Of what was left out nothing is taken back.
		cross join lateral (
		  select case when $6 = '' then e.admitted else greatest(e.admitted, -s.admitted) end as admitted,
		         case when $6 = '' then e.refused else greatest(e.refused, -s.refused) end as refused
		) c
		-- What was sent of a tenant that is gone stays sent.
		join tenants t on t.id = e.tenant_id
		join tenant_plans a on a.tenant_id = e.tenant_id and a.id = e.assignment
		where c.admitted <> 0 or c.refused <> 0
		order by e.tenant_id, e.assignment, e.hour limit $7`,
		at, last.TenantID, last.Assignment, last.Hour, r.tenantID, r.query.Receiver, eventPage, r.begins)
	return page, err
}
