package trail

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
)

// ErrDryRun rolls back a dry run.
var ErrDryRun = errors.New("dry run")

// Changes collects what must be done at the end of a transaction with changes.
type Changes struct {
	entries []pendingEntry
	dryRun  bool
	// failed is the first error of a change within a batch.
	failed error
}

// pendingEntry is an audit entry before it is written.
type pendingEntry struct {
	by            audit.By
	entry         Entry
	before, after sql.NullString
	// number is set when it is written.
	number int64
}

// Change runs fn in a transaction, which is rolled back if fn fails or by.DryRun is set. fn's audit
// entries are written at its end. Within a batch, fn runs as a part of the batch.
func Change(ctx context.Context, db *pgconn.DB, by audit.By, fn func(context.Context, pgconn.Tx) error) error {
	if db.InTx() {
		return db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error { return Of(tx).join(by, fn(ctx, tx)) })
	}
	return Run(ctx, db.Tx, by, fn)
}

// beginChanges says that changes write audit entries, so triggers need not. It also bounds the idle
// time: a client that stops in the middle, as a sleeping laptop does, loses its session, and with
// it the locks that others wait for. A login may have another limit.
const beginChanges = `
	select set_config('petstore.audited', 'on', true),
	       case when current_setting('idle_in_transaction_session_timeout') = '0'
	            then set_config('idle_in_transaction_session_timeout', '10s', true) end`

// Run runs fn in a transaction that begin makes.
func Run(
	ctx context.Context, begin func(context.Context, func(context.Context, pgconn.Tx) error) error, by audit.By,
	fn func(context.Context, pgconn.Tx) error,
) error {
	var c *Changes
	err := begin(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		c = &Changes{dryRun: by.DryRun}
		if _, err := tx.Exec(ctx, beginChanges); err != nil {
			return err
		}
		if err := cmp.Or(fn(ctx, tx.With(c)), c.failed); err != nil {
			return err
		}
		if err := c.writeEntries(ctx, tx); err != nil {
			return err
		}
		if c.dryRun {
			return ErrDryRun
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrDryRun):
		return nil
	case err != nil:
		return err
	}
	for _, p := range c.entries {
		if p.by.Undoable != nil && audit.FindEvent(p.entry.Action).Undo != "" {
			*p.by.Undoable = append(*p.by.Undoable, p.number)
		}
	}
	return nil
}

// Of returns the Changes that Run keeps with its transaction.
func Of(tx pgconn.Tx) *Changes { return tx.Local().(*Changes) }

// Made are the entries of the changes so far. Their numbers are set when they are written.
func (c *Changes) Made() (list []audit.Entry) {
	for _, p := range c.entries {
		list = append(list, audit.Entry{
			Number: p.number, Action: p.entry.Action, Subject: p.entry.Subject,
			Before: json.RawMessage(p.before.String), After: json.RawMessage(p.after.String),
		})
	}
	return list
}

// join adds the end of a change to the batch. A failed change makes the whole batch fail; a dry run
// makes it a dry run.
func (c *Changes) join(by audit.By, err error) error {
	c.dryRun = c.dryRun || by.DryRun
	c.failed = cmp.Or(c.failed, err)
	return err
}

// Entry is one change. Before and After are marshaled to JSON; nil for none.
type Entry struct {
	Action        string
	TenantID      int64
	Subject       string
	Before, After any
	// Hidden are the members that the records leave out and an undo needs.
	Hidden []Member
}

// Write adds the entry to those that the transaction of Change or Run writes at its end. It returns
// keys.ErrTextContainsKey for a reason or an actor that holds a key.
func Write(tx pgconn.Tx, by audit.By, e Entry) error {
	if err := CheckTexts(by); err != nil {
		return err
	}
	before, err := jsonOrNull(e.Before)
	if err != nil {
		return err
	}
	after, err := jsonOrNull(e.After)
	if err != nil {
		return err
	}
	c := Of(tx)
	c.entries = append(c.entries, pendingEntry{by: by, entry: e, before: before, after: after})
	return nil
}

// CheckTexts returns keys.ErrTextContainsKey for a reason or an actor that holds a key.
func CheckTexts(by audit.By) error {
	if err := errors.Join(keys.CheckText(by.Actor), keys.CheckText(by.Reason)); err != nil {
		return fmt.Errorf("write audit entry: %w", err)
	}
	return nil
}

// writeEntries writes the entries, as the transaction's last step, because all who write an entry
// wait for each other until they commit. It is one statement, so that they do not wait for its
// client, and so that the numbers are consecutive. A trigger sets each entry's number, instant,
// login, address and hash. The undo values are written with them.
//
//nolint:funlen // one statement
func (c *Changes) writeEntries(ctx context.Context, tx pgconn.Tx) error {
	if len(c.entries) == 0 {
		return nil
	}
	var actors, actions, subjects, reasons []string
	var tenants []sql.NullInt64
	var before, after, hiddenBefore, hiddenAfter []sql.NullString
	for _, p := range c.entries {
		actors, actions, reasons = append(
			actors,
			p.by.Actor,
		), append(
			actions,
			p.entry.Action,
		), append(
			reasons,
			p.by.Reason,
		)
		tenants, subjects = append(tenants, pgconn.NullNumber(p.entry.TenantID)), append(subjects, p.entry.Subject)
		before, after = append(before, p.before), append(after, p.after)
		was, is, err := hiddenObjects(p.entry.Hidden)
		if err != nil {
			return err
		}
		hiddenBefore, hiddenAfter = append(hiddenBefore, was), append(hiddenAfter, is)
	}
	var numbers []int64
	err := tx.Select(
		ctx,
		&numbers,
		`
		with e as (
		  select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::jsonb[], $6::jsonb[], $7::text[],
		      $8::jsonb[], $9::jsonb[])
		    with ordinality as e (actor, action, tenant_id, subject, before, after, reason, hidden_before,
		        hidden_after, n)
		), written as (
		  insert into audit_entries (claimed_actor, action, tenant_id, subject, before, after, reason)
		  select e.actor, e.action, e.tenant_id, e.subject, e.before, e.after, e.reason from e order by e.n
		  returning number
		), numbered as (
		  select number, min(number) over () as first_number, row_number() over (order by number) as n from written
		), kept as (
		  insert into undo_values (number, first_number, tenant_id, before, after)
		  select w.number, w.first_number, e.tenant_id, e.hidden_before, e.hidden_after from numbered w join e using (n)
		)
		select number from written order by number`,
		pq.Array(actors),
		pq.Array(actions),
		pq.Array(tenants),
		pq.Array(subjects),
		pq.Array(before),
		pq.Array(after),
		pq.Array(reasons),
		pq.Array(hiddenBefore),
		pq.Array(hiddenAfter),
	)
	if err != nil {
		return fmt.Errorf("write audit entries: %w", err)
	}
	for i, n := range numbers {
		c.entries[i].number = n
	}
	return nil
}

func jsonOrNull(v any) (sql.NullString, error) {
	if v == nil {
		return sql.NullString{}, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return sql.NullString{}, fmt.Errorf("write audit entry: %w", err)
	}
	return sql.NullString{String: string(text), Valid: true}, nil
}

// TimeOrNil is the time as a member of a record; nil stands for zero.
func TimeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
