package billing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/store/undo"
	"petstore.example/internal/usage/events"
)

// ErrNoReference: the tenant has no billing reference to move usage to.
var ErrNoReference = errors.New("the tenant has no billing reference")

// ResendQuery selects the usage of a tenant that a receiver got for other references than the
// present one.
type ResendQuery struct {
	Tenant, Receiver string
	// Since and Until are whole hours. Hours of closed months count in the hour of Now.
	Since, Until, Now time.Time
	// Lost says that the receiver never counted the usage of the other references, so nothing is
	// taken back from them.
	Lost bool
}

// Resent is the result of moving usage.
type Resent struct {
	Tenant   string `json:"-"`
	TenantID int64  `json:"-"`
	// Ref is the present reference. Hours is how many hours were moved to it, counted once for each
	// assignment.
	Receiver string    `json:"receiver"`
	Ref      string    `json:"billing_ref"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"`
	Lost     bool      `json:"lost"`
	Hours    int64     `json:"hours"`
	Admitted int64     `json:"admitted"`
	// At is the sent_at of the events.
	At time.Time `json:"at"`
	// LeftOut are events that the receiver would not take. Their hours stay where they are.
	LeftOut []events.Event `json:"-"`
}

// Resend moves usage from other references to the present one, by adding events to send. It returns
// plans.ErrTenantNotFound, ErrReceiverNew, ErrNoReference, a BusyError or a ByDayError.
func (d Events) Resend(ctx context.Context, by audit.By, q ResendQuery) (done Resent, err error) {
	defer pgconn.Wrap(&err, "resend usage")
	err = d.Hold(ctx, by, q.Receiver, func(ctx context.Context, _ Turn) error {
		return trail.Run(ctx, d.db.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
			done = Resent{Receiver: q.Receiver, Since: q.Since, Until: q.Until, Lost: q.Lost}
			r := &eventRun{tx: tx, query: EventQuery{Receiver: q.Receiver}}
			if err := hoursSince(ctx, tx, q.Since); err != nil {
				return err
			}
			if done.TenantID, err = tenants.IDOf(ctx, tx, q.Tenant); err != nil {
				return err
			}
			if err := r.resend(ctx, q, &done); err != nil || done.Hours == 0 {
				return err
			}
			return trail.Write(tx, by, trail.Entry{
				Action:   "usage.resend",
				TenantID: done.TenantID,
				Subject:  fmt.Sprintf("receiver:%s tenant:%d", q.Receiver, done.TenantID),
				After:    done,
			})
		})
	})
	return done, err
}

func (r *eventRun) resend(ctx context.Context, q ResendQuery, done *Resent) error {
	err := pgconn.GetOr(
		ctx,
		r.tx,
		&r.query.Format,
		ErrReceiverNew,
		`select format from receivers where name = $1`,
		q.Receiver,
	)
	if err != nil {
		return err
	}
	if err := r.tx.Get(ctx, &r.source, `select id from event_source`); err != nil {
		return err
	}
	err = r.tx.Get(ctx, done, `
		select name as tenant, coalesce(billing_ref, '') as ref, now() as at from tenants where id = $1`, done.TenantID)
	if err != nil {
		return err
	}
	if done.Ref == "" {
		return ErrNoReference
	}
	var rows []eventRow
	err = r.tx.Select(ctx, &rows, `
		select b.tenant_id, t.name as tenant, t.billing_ref, b.hour, b.assignment, a.plan, a.valid_from as began,
		       max(b.version) as version, max(b.correction) + 1 as correction,
		       json_agg(b order by b.last desc)::text as balances,
		       case when b.hour < (select closed_until()) then $5 else b.hour end as at
		from (
		  select s.tenant_id, s.hour, s.assignment, s.billing_ref, max(s.version) as version,
		         max(s.correction) as correction, sum(s.admitted) as admitted, sum(s.refused) as refused,
		         sum(s.overage) as overage, max(s.number) as last
		  from sent_events s
		  where s.receiver = $1 and s.tenant_id = $2 and s.hour >= $3 and s.hour < $4
		  group by s.tenant_id, s.hour, s.assignment, s.billing_ref
		) b
		join tenants t on t.id = b.tenant_id
		join tenant_plans a on a.tenant_id = b.tenant_id and a.id = b.assignment
		group by b.tenant_id, t.name, t.billing_ref, b.hour, b.assignment, a.plan, a.valid_from
		order by b.hour, b.assignment`,
		q.Receiver, done.TenantID, q.Since, q.Until, q.Now.Truncate(time.Hour))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := r.move(ctx, row, q, done); err != nil {
			return err
		}
	}
	return nil
}

// resentAt is the reply recorded for events that are no longer sent since the instant $3.
const resentAt = `'never counted: resent at ' || ` +
	`to_char($3::timestamptz at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`

// move moves the usage of an hour of an assignment.
func (r *eventRun) move(ctx context.Context, row eventRow, q ResendQuery, done *Resent) error {
	balances, err := row.balances()
	if err != nil {
		return err
	}
	var taken []events.Event
	given := balance{Ref: done.Ref}
	for _, b := range balances {
		if b.Ref == done.Ref || b.Admitted <= 0 && b.Refused <= 0 && b.Overage <= 0 {
			continue
		}
		given.Admitted += b.Admitted
		given.Refused += b.Refused
		given.Overage += b.Overage
		back := balance{b.Ref, -b.Admitted, -b.Refused, -b.Overage}
		taken = append(taken, r.event(row, back, row.Correction+int64(len(taken))))
	}
	all := slices.Concat(taken, []events.Event{r.event(row, given, row.Correction+int64(len(taken)))})
	if len(taken) == 0 || !r.query.Format.Counts(all[len(taken)]) {
		return nil
	}
	for _, e := range all {
		if r.query.Format.Refuses(e, q.Now) != "" {
			done.LeftOut = append(done.LeftOut, all[len(taken)])
			return nil
		}
	}
	done.Hours++
	done.Admitted += given.Admitted
	if !q.Lost {
		return r.record(ctx, all, Waiting)
	}
	// If events never counted at the receiver, their balancing events must not be sent either.
	for _, e := range taken {
		_, err := r.tx.Exec(ctx, `
			update sent_events set state = 'unsent', reply = `+resentAt+`
			where receiver = $1 and tenant_id = $2 and hour = $4 and assignment = $5 and billing_ref = $6
			  and state in ('waiting', 'refused', 'unknown')`,
			q.Receiver, e.TenantID, done.At, e.Hour, e.Assignment, e.BillingRef)
		if err != nil {
			return err
		}
	}
	return errors.Join(r.record(ctx, taken, Unsent), r.record(ctx, all[len(taken):], Waiting))
}

// Undoers take back changes of usage that is handed on.
var Undoers = undo.Undoers{"usage.resend": undoResend, "usage.waive": undoWaive}

// undoResend balances the events of a resend, if none was sent. Events that the resend kept from
// being sent wait again.
func undoResend(ctx context.Context, s undo.Step) error {
	_, was, err := undo.Records[Resent](s.Entry)
	if err != nil {
		return err
	}
	return Events{s.DB}.Hold(ctx, s.By, was.Receiver, func(ctx context.Context, t Turn) error {
		var sent bool
		err := t.lock.Get(ctx, &sent, `
			select exists (
			  select from sent_events where receiver = $1 and tenant_id = $2 and sent_at = $3
			    and (attempts > 0 or state not in ('waiting', 'unsent'))
			)`,
			was.Receiver, s.Entry.TenantID, was.At)
		if err != nil {
			return err
		}
		if sent {
			return undo.Over("the receiver has some of its events, or may have")
		}
		_, err = t.lock.Exec(ctx, `
			with made as (
			  update sent_events set state = 'unsent', body = null
			  where receiver = $1 and tenant_id = $2 and sent_at = $3 returning *
			), again as (
			  update sent_events set state = 'waiting'
			  where receiver = $1 and tenant_id = $2 and state = 'unsent' and reply = `+resentAt+`
			)
			insert into sent_events (receiver, format, state, hour, counted_at, tenant_id, assignment, version,
				event_id, billing_ref, admitted, refused, overage, correction)
			select receiver, format, 'unsent', hour, counted_at, tenant_id, assignment, version, event_id, billing_ref,
			       -admitted, -refused, -overage,
			       last + row_number() over (partition by hour, assignment order by correction desc)
			from made cross join lateral (
			  select max(a.correction) as last from sent_events a
			  where a.receiver = $1 and a.hour = made.hour and a.tenant_id = $2 and a.assignment = made.assignment
			) l
			order by hour, assignment, correction desc`, was.Receiver, s.Entry.TenantID, was.At)
		if err != nil {
			return err
		}
		return trail.Write(t.lock, s.By, trail.Entry{
			Action: "usage.unresend", TenantID: s.Entry.TenantID, Subject: s.Entry.Subject, Before: was,
		})
	})
}
