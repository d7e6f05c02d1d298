package billing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/usage/events"
)

// BusyError is returned while another run has the turn of the receiver.
type BusyError struct {
	// Holder names who runs it.
	Holder string
}

// Error implements error.
func (e BusyError) Error() string {
	return "another run is handing on to this receiver: that of " + e.Holder
}

// ErrNotAside: no such event was set aside.
var ErrNotAside = errors.New("no such event is set aside")

// Turn is the right to hand on to a receiver. One run at a time has it.
type Turn struct {
	db       *pgconn.DB
	lock     pgconn.Tx
	receiver string
}

// Hold calls work with the turn of the receiver. It returns a BusyError, or the error of work
// unchanged. The turn ends with the session that holds it, so the next run need not wait for this
// machine.
func (d Events) Hold(ctx context.Context, by audit.By, receiver string, work func(context.Context, Turn) error) error {
	err := d.db.LongTx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		var locked bool
		// event_source has one row. A login that may not read it does not get the lock.
		err := tx.Get(ctx, &locked, `select pg_try_advisory_xact_lock(`+receiverLock+`) from event_source`, receiver)
		if err != nil {
			return err
		}
		if !locked {
			var holder string
			err := tx.Get(ctx, &holder, `
				select coalesce(min(a.application_name || ', login ' || a.usename), 'a login that has just ended')
				from pg_locks l join pg_stat_activity a using (pid)
				where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and a.datname = current_database()
				  and (l.classid::bigint << 32 | l.objid::bigint) = `+receiverLock, receiver)
			return errors.Join(err, BusyError{holder})
		}
		// The application name says who holds the lock. Postgres cuts it, and replaces characters
		// that are not ASCII.
		_, err = tx.Exec(ctx, `select set_config('application_name', $1, true)`, by.Actor)
		if err != nil {
			return err
		}
		// The transaction has nothing to commit, so no commit can fail after the work was done.
		return cmp.Or(work(ctx, Turn{d.db, tx, receiver}), trail.ErrDryRun)
	})
	if errors.Is(err, trail.ErrDryRun) {
		err = nil
	}
	return err
}

// Keep returns an error if the turn has ended. It also makes the turn end after two minutes without
// another call, because a frozen machine must not keep it.
func (t Turn) Keep(ctx context.Context) error {
	_, err := t.lock.Exec(ctx, `set local idle_in_transaction_session_timeout = '2min'`)
	return err
}

const receiverLock = `hashtextextended('petstore receiver ' || $1, 0)`

// BegunError is returned for a first hour that is later than the receiver's.
type BegunError struct{ Begins time.Time }

// Error implements error.
func (e BegunError) Error() string {
	return "this receiver begins with " + e.Begins.UTC().Format(time.RFC3339)
}

// eventDays is how many days a run without a first hour looks back at least, so that it finds late
// usage of an open month.
const eventDays = 34

// begin reads and writes the receiver's row, which stays locked, and sets the first hour of a run
// without one.
func (r *eventRun) begin(ctx context.Context) error {
	var rows []struct {
		Format events.Format `db:"format"`
		Begins time.Time     `db:"begins"`
		Since  time.Time     `db:"since"`
		Used   bool          `db:"used"`
	}
	q := &r.query
	err := r.tx.Select(ctx, &rows, `
		select format, begins, greatest(begins, least(coalesce(handed_to, begins), $2)) as since,
			exists (select from sent_events where receiver = name) as used
		from receivers where name = $1 for update`,
		q.Receiver, q.To.AddDate(0, 0, -eventDays).Truncate(hoursPerDay*time.Hour))
	switch {
	case err != nil:
		return err
	case len(rows) > 0 && rows[0].Used && rows[0].Format != q.Format:
		return fmt.Errorf("%w: %s", ErrReceiverFormat, rows[0].Format)
	case len(rows) == 0 && q.From.IsZero():
		return ErrReceiverNew
	case len(rows) > 0 && q.Waiting && q.From.After(rows[0].Begins):
		return BegunError{rows[0].Begins}
	case len(rows) > 0 && (q.From.IsZero() || q.Waiting && q.From.Equal(rows[0].Begins)):
		q.From = rows[0].Since.UTC()
		until, err := byDayUntil(ctx, r.tx)
		if err != nil {
			return err
		}
		if q.From.Before(until) {
			r.days, q.From = q.From, until.UTC()
		}
	}
	return r.tx.Get(ctx, &r.begins, `
		insert into receivers as r (name, format, begins) values ($1, $2, $3)
		on conflict (name) do update set format = excluded.format, begins = least(r.begins, excluded.begins)
		returning begins`,
		q.Receiver, q.Format, cmp.Or(r.days, q.From))
}

// end writes the instant up to which everything is handed on.
func (r *eventRun) end(ctx context.Context) error {
	if !r.query.Waiting || r.tenantID != 0 {
		return nil
	}
	_, err := r.tx.Exec(ctx, `update receivers set handed_to = $2 where name = $1`,
		r.query.Receiver, cmp.Or(r.left, r.query.To))
	return err
}

// sentRow is an event as record passes it to Postgres.
type sentRow struct {
	Hour       time.Time `json:"hour"`
	At         time.Time `json:"counted_at"`
	TenantID   int64     `json:"tenant_id"`
	Assignment int64     `json:"assignment"`
	Correction int64     `json:"correction"`
	Version    int64     `json:"version"`
	ID         uuid.UUID `json:"event_id"`
	Ref        string    `json:"billing_ref"`
	Admitted   int64     `json:"admitted"`
	Refused    int64     `json:"refused"`
	Overage    int64     `json:"overage"`
	Body       *string   `json:"body"`
}

// record writes the events with the given state. Waiting events have their bodies.
func (r *eventRun) record(ctx context.Context, sent []events.Event, state string) (err error) {
	defer pgconn.Wrap(&err, "record sent events")
	if len(sent) == 0 || r.query.Receiver == "" {
		return nil
	}
	rows := make([]sentRow, len(sent))
	for i, e := range sent {
		rows[i] = sentRow{
			e.Hour,
			e.At,
			e.TenantID,
			e.Assignment,
			e.Correction,
			e.Version,
			r.query.Format.ID(e),
			e.BillingRef,
			e.Admitted,
			e.Refused,
			e.Overage,
			nil,
		}
		if state == Waiting {
			encoded, err := r.query.Format.Encode(e)
			if err != nil {
				return err
			}
			body := string(encoded)
			rows[i].Body = &body
		}
		r.sent.Admitted += e.Admitted
		r.sent.Refused += e.Refused
		r.sent.Overage += e.Overage
	}
	r.sent.Events += int64(len(sent))
	list, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = r.tx.Exec(ctx, `
		insert into sent_events (receiver, format, state, hour, counted_at, tenant_id, assignment, correction, version,
			event_id, billing_ref, admitted, refused, overage, body)
		select $1, $2, $3, e.hour, e.counted_at, e.tenant_id, e.assignment, e.correction, e.version, e.event_id,
			e.billing_ref, e.admitted, e.refused, e.overage, e.body
		from rows from (json_to_recordset($4) as (hour timestamptz, counted_at timestamptz,
			tenant_id bigint, assignment bigint, correction integer, version integer, event_id uuid, billing_ref text,
			admitted bigint, refused bigint, overage bigint, body text)) with ordinality as e (hour, counted_at,
			tenant_id, assignment, correction, version, event_id, billing_ref, admitted, refused, overage, body, place)
		order by e.place`, r.query.Receiver, r.query.Format, state, list)
	return err
}

// WaitingEvent is an event that was stored to be sent.
type WaitingEvent struct {
	Number int64 `db:"number"`
	// Body is its part of a request's body.
	Body []byte `db:"body"`
	// Fresh says that no earlier attempt can have reached the receiver.
	Fresh bool `db:"fresh"`
}

// Next returns the events to send next in one request, up to most of them; none if all were sent.
// Events that were tried together are returned together again. Next commits the attempt before it
// returns. It sets aside events whose first attempt is longer ago than remembers, because the
// receiver has forgotten their IDs.
func (t Turn) Next(ctx context.Context, most int, remembers time.Duration) (batch []WaitingEvent, err error) {
	defer pgconn.Wrap(&err, "find the next event")
	if err := t.Keep(ctx); err != nil {
		return nil, err
	}
	err = t.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		_, err := tx.Exec(ctx, `
			update sent_events set state = 'unknown'
			where receiver = $1 and state = 'waiting' and tried_at < now() - $2 * interval '1 second'`,
			t.receiver, remembers.Seconds())
		if err != nil {
			return err
		}
		batch = nil
		return tx.Select(ctx, &batch, `
			with first as (
			  select tried_at from sent_events where receiver = $1 and state = 'waiting' order by number limit 1
			), batch as (
			  select s.number from sent_events s, first f
			  where s.receiver = $1 and s.state = 'waiting' and s.tried_at is not distinct from f.tried_at
			  order by s.number limit $2
			)
			update sent_events s set attempts = s.attempts + 1, tried_at = coalesce(s.tried_at, now())
			from batch b where s.receiver = $1 and s.state = 'waiting' and s.number = b.number
			returning s.number, s.body, s.tried_at = now() as fresh`,
			t.receiver, most)
	})
	slices.SortFunc(batch, func(a, b WaitingEvent) int { return int(a.Number - b.Number) })
	return batch, err
}

// The states of an event.
const (
	Waiting = "waiting"
	Arrived = "arrived"
	Refused = "refused"
	// Unsent events only balance others, which the receiver never counted.
	Unsent = "unsent"
)

// Note writes the state of a batch (Arrived, Refused or Waiting) and the reply. certain says that
// this attempt certainly did not reach the receiver.
func (t Turn) Note(ctx context.Context, batch []WaitingEvent, state, reply string, certain bool) (err error) {
	defer pgconn.Wrap(&err, "note what became of events")
	numbers := make([]int64, len(batch))
	for i, e := range batch {
		numbers[i] = e.Number
	}
	_, err = t.db.Exec(ctx, `
		update sent_events set state = $3, reply = $4, body = case when $3 <> 'arrived' then body end,
			tried_at = case when not $5 then tried_at end
		where receiver = $1 and number = any($2) and state = 'waiting'`,
		t.receiver, pq.Array(numbers), state, reply, certain && batch[0].Fresh)
	return err
}

// AsideEvent is an event that was set aside.
type AsideEvent struct {
	ID       string    `db:"event_id"`
	State    string    `db:"state"`
	Tenant   string    `db:"tenant"`
	Hour     time.Time `db:"hour"`
	Ref      string    `db:"billing_ref"`
	Admitted int64     `db:"admitted"`
	TriedAt  time.Time `db:"tried_at"`
	Reply    string    `db:"reply"`
	// Of is the number of all events set aside.
	Of int64 `db:"of"`
}

// Aside returns the first events that are set aside, up to most of them.
func (t Turn) Aside(ctx context.Context, most int) (list []AsideEvent, err error) {
	err = t.db.Select(ctx, &list, `
		select s.event_id, s.state, coalesce(t.name, 'erased') as tenant, s.hour, s.billing_ref, s.reply,
			case s.format when 'stripe-overage' then s.overage else s.admitted end as admitted,
			coalesce(s.tried_at, s.sent_at) as tried_at, count(*) over () as of
		from sent_events s left join tenants t on t.id = s.tenant_id
		where s.receiver = $1 and s.state in ('refused', 'unknown') order by s.number limit $2`, t.receiver, most)
	return list, err
}

// Settle gives events that were set aside the state Waiting or Arrived: those with these IDs, or
// all if ids is nil. It returns their number, or ErrNotAside.
func (t Turn) Settle(ctx context.Context, by audit.By, ids []string, state string) (rows int, err error) {
	defer pgconn.Wrap(&err, "settle events")
	err = trail.Run(ctx, t.db.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
		rows, err = tx.Exec(ctx, `
			update sent_events set state = $3, body = case when $3 = 'waiting' then body end, tried_at = null
			where receiver = $1 and state in ('refused', 'unknown') and ($2::uuid[] is null or event_id = any($2))`,
			t.receiver, pq.Array(ids), state)
		switch {
		case err != nil:
			return err
		case rows < len(ids):
			return ErrNotAside
		case rows == 0:
			return nil
		}
		action := "usage.settle"
		if state == Waiting {
			action = "usage.retry"
		}
		return trail.Write(tx, by, trail.Entry{
			Action: action, Subject: "receiver:" + t.receiver,
			After: map[string]any{"state": state, "events": rows, "event_ids": ids},
		})
	})
	return rows, err
}
