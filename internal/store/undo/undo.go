package undo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// MaxAge is how long an entry can be taken back.
const MaxAge = 30 * 24 * time.Hour

// Undone is the entry of a change that was taken back. By is the entry of the undo, without a
// number after a dry run.
type Undone struct{ Entry, By audit.Entry }

// Error says why a change can't be taken back.
type Error struct {
	Entry audit.Entry
	// Err is the cause, nil if Why says it.
	Err error
	// Why is a sentence without its end. Hint says what to do instead.
	Why, Hint string
}

// Error implements error.
func (e *Error) Error() string {
	why := e.Why
	if e.Err != nil {
		why = e.Err.Error()
	}
	return fmt.Sprintf("entry %d (%s) can't be undone: %s", e.Entry.Number, e.Entry.Action, why)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrBySQL: a trigger wrote the entry, for a change that somebody made by SQL.
var ErrBySQL = &Error{Why: "it was made by SQL", Hint: "take it back by SQL, or make another change"}

// Over is the error for an entry whose change has ended by itself.
func Over(format string, args ...any) error { return &Error{Why: fmt.Sprintf(format, args...)} }

// Step is the undo of one entry, in the transaction of DB.
type Step struct {
	DB *pgconn.DB
	By audit.By
	// Now is the time by the client's clock, which dates staff's changes of keys and bans. Instant
	// is the time by the database's clock.
	Now, Instant time.Time
	Entry        audit.Entry
}

// Undoers take back the entries of events, by action. Each group of nouns has Undoers for its
// events.
type Undoers map[string]func(context.Context, Step) error

// Undos takes changes back.
type Undos struct {
	db *pgconn.DB
	Undoers
}

// New returns the Undos of a database, with the undoers of all groups.
func New(db *pgconn.DB, groups ...Undoers) Undos {
	d := Undos{db, Undoers{}}
	for _, g := range groups {
		maps.Copy(d.Undoers, g)
	}
	return d
}

// Do takes the changes of these entries back, the latest first, all or none. Each is taken back by
// a new change, whose reason names the entry. An entry is refused if its subject has a later one
// that is not among these. It returns trail.ErrEntryNotFound, or an Error if one can't be taken
// back.
func (d Undos) Do(ctx context.Context, by audit.By, numbers []int64, now time.Time) (done []Undone, err error) {
	defer pgconn.Wrap(&err, "undo")
	var made *trail.Changes
	var undone []audit.Entry
	err = trail.Run(ctx, d.db.LongTx, by, func(ctx context.Context, tx pgconn.Tx) (err error) {
		made = trail.Of(tx)
		in := Undos{d.db.In(tx), d.Undoers}
		step := Step{DB: in.db, By: by, Now: now}
		if step.Instant, err = pgconn.Instant(ctx, d.db, tx, time.Time{}); err != nil {
			return err
		}
		entries, err := in.undoable(ctx, numbers)
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(entries) {
			step.Entry, step.By.Reason = e, strings.TrimSuffix(fmt.Sprintf("undo of %d: %s", e.Number, by.Reason), ": ")
			if err := d.Undoers[e.Action](ctx, step); err != nil {
				return refusal(e, err)
			}
			undone = append(undone, slices.Repeat([]audit.Entry{e}, len(made.Made())-len(undone))...)
		}
		// Check again: a later change may have come before all was locked.
		return in.checkLatest(ctx, entries, numbers)
	})
	if err != nil {
		return nil, err
	}
	for i, e := range made.Made() {
		if by.DryRun {
			e.Number = 0
		}
		done = append(done, Undone{undone[i], e})
	}
	return done, nil
}

func refusal(e audit.Entry, err error) error {
	if own := (*Error)(nil); errors.As(err, &own) {
		return &Error{Entry: e, Why: own.Why, Hint: own.Hint}
	}
	return &Error{Entry: e, Err: err}
}

// undoable locks the subjects of the entries and returns the entries in the order of their numbers,
// if all of them can be taken back.
func (d Undos) undoable(ctx context.Context, numbers []int64) ([]audit.Entry, error) {
	type row struct {
		trail.Row
		Old bool `db:"old"`
	}
	var rows []row
	err := d.db.Select(ctx, &rows, `
		select `+trail.Columns+`, coalesce(t.name, '') as tenant_name, a.at < now() - interval '30 days' as old
		from role_audit_entries a left join tenants t on t.id = a.tenant_id and t.erased_at is null
		where a.number = any($1) order by a.number`, pq.Array(numbers))
	if err != nil {
		return nil, err
	}
	entries := make([]audit.Entry, len(rows))
	for i, r := range rows {
		e := r.Entry()
		entries[i] = e
		event := audit.FindEvent(e.Action)
		switch {
		case event.Undo == "":
			return nil, &Error{
				Entry: e,
				Why:   event.Final,
				Hint:  strings.ReplaceAll(event.Hint, "{name}", cmp.Or(e.TenantName, NameOf(e))),
			}
		case r.Old:
			return nil, &Error{Entry: e, Why: fmt.Sprintf("it is older than %d days", MaxAge/(24*time.Hour))}
		case e.TenantName == "" && e.TenantID != 0 && !strings.HasSuffix(e.Action, "waive"):
			return nil, &Error{Entry: e, Why: "the tenant was erased"}
		}
	}
	for _, n := range numbers {
		if !slices.ContainsFunc(entries, func(e audit.Entry) bool { return e.Number == n }) {
			return nil, fmt.Errorf("entry %d: %w", n, d.missing(ctx, n))
		}
	}
	if err := d.lock(ctx, entries); err != nil {
		return nil, err
	}
	return entries, d.checkLatest(ctx, entries, numbers)
}

// missing is the error for an entry that the login does not see: ErrEntryNotFound if there is none,
// or an error that says that the login may not read it.
func (d Undos) missing(ctx context.Context, number int64) error {
	if err := trail.CheckEntry(ctx, d.db, number); err != nil {
		return err
	}
	var action string
	return d.db.Get(ctx, &action, `select action from audit_entries where number = $1`, number)
}

// lock blocks other changes to the entries' tenants and keys, and so to assignments. A change of a
// plan locks the plan itself.
func (d Undos) lock(ctx context.Context, entries []audit.Entry) error {
	var keyIDs, numbers []string
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Subject, "key_"):
			keyIDs = append(keyIDs, e.Subject)
		// Billing may not lock tenants: setVoid locks the assignment, and Hold the receiver.
		case e.TenantID != 0 && !strings.HasSuffix(e.Action, "void") && !strings.HasPrefix(e.Action, "usage."):
			numbers = append(numbers, fmt.Sprintf("#%d", e.TenantID))
		}
	}
	if len(numbers)+len(keyIDs) == 0 {
		return nil
	}
	return tenants.LockAll(ctx, d.db, numbers, keyIDs)
}

// checkLatest refuses an entry if a later entry, not among numbers, has the same subject.
func (d Undos) checkLatest(ctx context.Context, entries []audit.Entry, numbers []int64) error {
	if len(entries) == 0 {
		return nil
	}
	var subjects []string
	for _, e := range entries {
		subjects = append(subjects, e.Subject)
	}
	var later []struct {
		Subject, Action string
		Number          int64
	}
	err := d.db.Select(ctx, &later, `
		select distinct on (subject) subject, action, number from role_audit_entries
		where subject = any($1) and number > $2 and number <> all($3) order by subject, number desc`,
		pq.Array(subjects), entries[0].Number, pq.Array(numbers))
	for _, e := range entries {
		for _, l := range later {
			if l.Subject == e.Subject && l.Number > e.Number {
				return &Error{
					Entry: e,
					Why: fmt.Sprintf(
						"entry %d (%s) is later, and only the latest change of a subject can be undone",
						l.Number,
						l.Action,
					),
					Hint: fmt.Sprintf("see it: petstorectl audit show %d", l.Number),
				}
			}
		}
	}
	return err
}

// Latest returns the entries of the latest change of the session's login, or ErrEntryNotFound. If
// before is not 0, it is the latest one before that entry that is not final.
func (d Undos) Latest(ctx context.Context, before int64) (numbers []int64, err error) {
	defer pgconn.Wrap(&err, "find the latest change")
	err = d.db.Select(ctx, &numbers, `
		select generate_series(last.first_number, last.number) from (
		  select u.first_number, u.number from undo_values u join role_audit_entries a on a.number = u.number
		  where a.login = session_user::text collate "default" and a.at >= now() - interval '30 days'
		    and ($1 = 0 or u.number < $1 and a.action = any($2))
		  order by u.number desc limit 1) last`,
		before, pq.Array(slices.Collect(maps.Keys(d.Undoers))))
	if err == nil && len(numbers) == 0 {
		err = trail.ErrEntryNotFound
	}
	return numbers, err
}

// Records reads the records of an entry before and after the change.
func Records[T any](e audit.Entry) (before, after T, err error) {
	for record, text := range map[*T]json.RawMessage{&before: e.Before, &after: e.After} {
		if len(text) > 0 {
			err = errors.Join(err, json.Unmarshal(text, record))
		}
	}
	return before, after, err
}

// Former sets the redacted members that the change changed to their values before it.
func (s Step) Former(ctx context.Context, members map[string]**string) error {
	for _, name := range s.Entry.Redacted() {
		hidden, err := trail.ReadHidden(ctx, s.DB, s.Entry.Number)
		if err != nil {
			return err
		}
		if hidden == nil {
			return &Error{Why: "the former values are no longer kept"}
		}
		value := hidden.Before[name]
		*members[name] = &value
	}
	return nil
}

// Tenant names the tenant by its number: another undo of the batch may change its name.
func (s Step) Tenant() string { return fmt.Sprintf("#%d", s.Entry.TenantID) }

// NameOf is the name of a plan or of a login.
func NameOf(e audit.Entry) string {
	_, name, _ := strings.Cut(e.Subject, ":")
	return name
}
