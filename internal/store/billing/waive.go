package billing

import (
	"cmp"
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

// Missing is a tenant's usage that a receiver does not have.
type Missing struct {
	Receiver string        `db:"name"   json:"receiver"`
	Format   events.Format `db:"format" json:"-"`
	// Hours counts hours, once for each assignment. All hours that are summed into days count as
	// one.
	Hours int64 `json:"hours"`
	// Admitted is the sum of what the receiver bills.
	Admitted int64 `json:"admitted"`
}

// Waived is usage that was given up.
type Waived struct {
	Tenant   string `json:"-"`
	TenantID int64  `json:"-"`
	// Receiver is "" for all receivers.
	Receiver string    `json:"receiver"`
	Until    time.Time `json:"until"`
	// Missing is the usage that was given up.
	Missing []Missing `json:"missing"`
	// Already is set if the usage was given up before.
	Already bool `json:"-"`
}

// Waive gives up the part of a tenant's usage before until that a receiver does not have; "" stands
// for all receivers. It returns plans.ErrTenantNotFound or ErrReceiverNew.
func (d Events) Waive(
	ctx context.Context, by audit.By, tenant, receiver string, until time.Time,
) (done Waived, err error) {
	defer pgconn.Wrap(&err, "waive usage")
	err = trail.Run(ctx, d.db.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
		done = Waived{Receiver: receiver, Until: until}
		if done.TenantID, err = tenants.IDOf(ctx, tx, tenant); err != nil {
			return err
		}
		if err := tx.Get(ctx, &done.Tenant, `select name from tenants where id = $1`, done.TenantID); err != nil {
			return err
		}
		if done.Missing, err = missing(ctx, tx, done); err != nil {
			return err
		}
		var before []Waived
		err := tx.Select(ctx, &before, `
			select receiver, until from usage_waivers where tenant_id = $1 and receiver = $2`, done.TenantID, receiver)
		if err != nil {
			return err
		}
		entry := trail.Entry{
			Action: "usage.waive", TenantID: done.TenantID, After: done,
			Subject: fmt.Sprintf("waiver:%s tenant:%d", cmp.Or(receiver, "*"), done.TenantID),
		}
		if len(before) > 0 {
			done.Already = !before[0].Until.Before(until)
			entry.Before = before[0]
		}
		if done.Already {
			return nil
		}
		if err := setWaiver(ctx, tx, done); err != nil {
			return err
		}
		return trail.Write(tx, by, entry)
	})
	return done, err
}

func setWaiver(ctx context.Context, tx pgconn.Tx, w Waived) error {
	_, err := tx.Exec(ctx, `
		insert into usage_waivers (tenant_id, receiver, until) values ($1, $2, $3)
		on conflict (tenant_id, receiver) do update set until = excluded.until`, w.TenantID, w.Receiver, w.Until)
	return err
}

// missing returns the part of the usage to give up that the receivers do not have.
func missing(ctx context.Context, tx pgconn.Tx, w Waived) (list []Missing, err error) {
	err = tx.Select(ctx, &list, `
		select name, format from receivers where name = $1 or $1 = '' order by name`, w.Receiver)
	if err == nil && len(list) == 0 && w.Receiver != "" {
		err = ErrReceiverNew
	}
	for i := range list {
		if err != nil {
			break
		}
		var r *eventRun
		r, err = newEventRun(ctx, tx, EventQuery{
			To: w.Until, Tenant: fmt.Sprint("#", w.TenantID), Receiver: list[i].Receiver, Format: list[i].Format,
		})
		if err == nil {
			err = r.run(ctx, &list[i])
		}
	}
	return list, err
}

// Write implements EventSink.
func (m *Missing) Write(page []events.Event) ([]events.Event, error) {
	for _, e := range page {
		if m.Format.Counts(e) {
			m.Hours++
			m.Admitted += m.Format.Value(e)
		}
	}
	return nil, nil
}

// Close implements EventSink.
func (*Missing) Close() error { return nil }

// Missing returns the part of a tenant's usage before that instant that receivers with billing
// references do not have.
func (d Events) Missing(ctx context.Context, tenantID int64, until time.Time) (list []Missing, err error) {
	defer pgconn.Wrap(&err, "find what is missing")
	err = d.db.LongTx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		list, err = missing(ctx, tx, Waived{TenantID: tenantID, Until: until})
		return cmp.Or(err, trail.ErrDryRun) // The transaction has nothing to commit.
	})
	if errors.Is(err, trail.ErrDryRun) {
		err = nil
	}
	return slices.DeleteFunc(list, func(m Missing) bool { return m.Format == events.CloudEvents || m.Hours == 0 }), err
}

// Waivers returns the tenant's usage that was given up.
func (d Events) Waivers(ctx context.Context, tenantID int64) (list []Waived, err error) {
	defer pgconn.Wrap(&err, "list waivers")
	err = d.db.Select(ctx, &list, `
		select receiver, until from usage_waivers where tenant_id = $1 order by receiver`, tenantID)
	return list, err
}

// undoWaive restores usage that was given up. The next run finds everything that the receiver does
// not have.
func undoWaive(ctx context.Context, s undo.Step) error {
	before, was, err := undo.Records[Waived](s.Entry)
	if err != nil {
		return err
	}
	was.TenantID, before.TenantID = s.Entry.TenantID, s.Entry.TenantID
	return trail.Change(ctx, s.DB, s.By, func(ctx context.Context, tx pgconn.Tx) error {
		entry := trail.Entry{
			Action: "usage.unwaive", TenantID: was.TenantID, Subject: s.Entry.Subject, Before: was,
		}
		_, err := tx.Exec(ctx, `update receivers set handed_to = begins where $1 in (name, '')`, was.Receiver)
		if err != nil {
			return err
		}
		if before.Until.IsZero() {
			_, err = tx.Exec(ctx, `
				delete from usage_waivers where tenant_id = $1 and receiver = $2`, was.TenantID, was.Receiver)
		} else {
			entry.After, err = before, setWaiver(ctx, tx, before)
		}
		if err != nil {
			return err
		}
		return trail.Write(tx, s.By, entry)
	})
}

// runDays passes to the sink what is missing of the days from r.days up to the first hour, one
// event per tenant. A receiver that has some hours of a day would not take the whole day, so a
// person bills it.
func (r *eventRun) runDays(ctx context.Context, sink EventSink) error {
	if r.days.IsZero() {
		return nil
	}
	var rows []eventRow
	err := r.tx.Select(ctx, &rows, `
		select t.id as tenant_id, t.name as tenant, min(m.day) as hour, sum(m.admitted)::bigint as admitted,
		       sum(m.overage)::bigint as overage
		from (
		  select tenant_id, day, sum(admitted) as admitted, sum(overage) as overage from (
		    select u.tenant_id, u.assignment, date_trunc('day', u.counted_at, 'UTC') as day, u.admitted, u.overage
		    from usage_counted u
		    where u.counted_at >= date_trunc('day', $2::timestamptz, 'UTC') and u.counted_at < $3
		      and ($4::bigint = 0 or u.tenant_id = $4)
		    union all
		    select s.tenant_id, s.assignment, date_trunc('day', s.counted_at, 'UTC'), -s.admitted, -s.overage
		    from sent_events s
		    where s.receiver = $1 and s.counted_at >= date_trunc('day', $2::timestamptz, 'UTC') and s.counted_at < $3
		      and (s.counted_at <> s.hour or s.hour >= date_trunc('day', $2::timestamptz, 'UTC') and s.hour < $3)
		      and ($4::bigint = 0 or s.tenant_id = $4)
		  ) d
		  group by tenant_id, assignment, day
		  having sum(case when $6 then overage else admitted end) > 0 and day >= $5
		) m
		join tenants t on t.id = m.tenant_id
		where not exists (
		  select from usage_waivers w
		  where w.tenant_id = m.tenant_id and w.receiver in ($1, '') and w.until >= m.day + interval '1 day'
		)
		group by t.id, t.name order by hour, t.id`,
		r.query.Receiver, r.days, r.query.From, r.tenantID, r.begins, r.query.Format == events.StripeOverage)
	if err != nil {
		return err
	}
	for _, row := range rows {
		e := r.event(row, balance{Admitted: row.Admitted, Overage: row.Overage}, 0)
		e.ByDay = true
		if err := r.write(ctx, sink, row.Hour, []events.Event{e}); err != nil {
			return err
		}
	}
	return nil
}
