package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
)

// UndoAge is for how long an entry can be taken back.
const UndoAge = 30 * 24 * time.Hour

// Undone is a change that was taken back, and the entry of the change that did it: without a number after a dry run.
type Undone struct{ Entry, By audit.Entry }

// UndoError says why a change can't be taken back.
type UndoError struct {
	Entry audit.Entry
	// Err is why, nil if Why says it.
	Err error
	// Why is a sentence without its end, and Hint what to do instead.
	Why, Hint string
}

// Error implements error.
func (e *UndoError) Error() string {
	why := e.Why
	if e.Err != nil {
		why = e.Err.Error()
	}
	return fmt.Sprintf("entry %d (%s) can't be undone: %s", e.Entry.Number, e.Entry.Action, why)
}

// Unwrap returns the cause.
func (e *UndoError) Unwrap() error { return e.Err }

var (
	// ErrEntryNotFound: the audit trail has no entry with that number, or none that the login may read.
	ErrEntryNotFound = errors.New("no such entry")
	// errBySQL: the entry was written by a trigger, for a change that somebody made by SQL.
	errBySQL = &UndoError{Why: "it was made by SQL", Hint: "take it back by SQL, or make another change"}
)

// errOver: what the entry changed has ended by itself.
func errOver(format string, args ...any) error { return &UndoError{Why: fmt.Sprintf(format, args...)} }

// undoStep is the undo of one entry.
type undoStep struct {
	db *DB
	by audit.By
	// now is the time by the client's clock, by which staff's changes of keys and bans happen, and instant the time by the clock of the database.
	now, instant time.Time
	entry        audit.Entry
}

// undoers take back the entries of the events that have an undo.
var undoers = map[string]func(context.Context, undoStep) error{
	"tenant.edit": undoTenantEdit, "tenant.suspend": undoSuspension, "tenant.resume": undoSuspension,
	"plan.assign": undoAssignment, "plan.boost": undoAssignment, "plan.move": undoAssignment, "plan.unschedule": undoUnschedule,
	"plan.void": undoVoid, "plan.unvoid": undoVoid,
	"plan.edit": undoPlanEdit, "plan.withdraw": undoWithdrawal, "plan.retire": undoRetirement, "plan.resell": undoRetirement,
	"key.issue": undoIssue, "key.unrevoke": undoIssue, "key.edit": undoKeyEdit, "key.rotate": undoKeyEdit, "key.revoke": undoRevocation,
	"ban.place": undoBan, "ban.lift": undoBan,
}

// Undos takes changes back.
type Undos struct{ db *pgconn.DB }

// Do takes the changes of these entries back, the latest first, all or none: each by a new change, whose reason names the entry. No later
// entry may have the same subject, but for those of numbers. It returns ErrEntryNotFound, or an UndoError if one can't be taken back.
func (d Undos) Do(ctx context.Context, by audit.By, numbers []int64, now time.Time) (done []Undone, err error) {
	defer wrap(&err, "undo")
	var made *changes
	var undone []audit.Entry
	err = runChanges(ctx, d.db.LongTx, by, func(ctx context.Context, tx pgconn.Tx) (err error) {
		made = changesOf(tx)
		step := undoStep{db: newDB(d.db.In(tx)), by: by, now: now}
		if step.instant, err = instant(ctx, d.db, tx, time.Time{}); err != nil {
			return err
		}
		entries, err := step.db.Undos.undoable(ctx, numbers)
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(entries) {
			step.entry, step.by.Reason = e, strings.TrimSuffix(fmt.Sprintf("undo of %d: %s", e.Number, by.Reason), ": ")
			if err := undoers[e.Action](ctx, step); err != nil {
				return undoError(e, err)
			}
			undone = append(undone, slices.Repeat([]audit.Entry{e}, len(made.entries)-len(undone))...)
		}
		// Again, for a change that came before all was locked.
		return step.db.Undos.checkLatest(ctx, entries, numbers)
	})
	if err != nil {
		return nil, err
	}
	for i, p := range made.entries {
		e := audit.Entry{Action: p.entry.action, Subject: p.entry.subject, Before: json.RawMessage(p.before.String), After: json.RawMessage(p.after.String)}
		if !by.DryRun {
			e.Number = p.number
		}
		done = append(done, Undone{undone[i], e})
	}
	return done, nil
}

func undoError(e audit.Entry, err error) error {
	if own := (*UndoError)(nil); errors.As(err, &own) {
		return &UndoError{Entry: e, Why: own.Why, Hint: own.Hint}
	}
	return &UndoError{Entry: e, Err: err}
}

// undoable returns the entries in the order of their numbers, with what they are about locked, if all of them can be taken back.
func (d Undos) undoable(ctx context.Context, numbers []int64) ([]audit.Entry, error) {
	type row struct {
		auditRow
		Old bool `db:"old"`
	}
	var rows []row
	err := d.db.Select(ctx, &rows, `
		select `+auditColumns+`, coalesce(t.name, '') as tenant_name, a.at < now() - interval '30 days' as old
		from role_audit_entries a left join tenants t on t.id = a.tenant_id and t.erased_at is null
		where a.number = any($1) order by a.number`, pq.Array(numbers))
	if err != nil {
		return nil, err
	}
	entries := make([]audit.Entry, len(rows))
	for i, r := range rows {
		e := r.entry()
		entries[i] = e
		event := audit.FindEvent(e.Action)
		switch {
		case event.Undo == "":
			return nil, &UndoError{Entry: e, Why: event.Final, Hint: strings.ReplaceAll(event.Hint, "{name}", cmp.Or(e.TenantName, nameOfSubject(e)))}
		case r.Old:
			return nil, &UndoError{Entry: e, Why: fmt.Sprintf("it is older than %d days", UndoAge/(24*time.Hour))}
		case e.TenantName == "" && e.TenantID != 0:
			return nil, &UndoError{Entry: e, Why: "the tenant was erased"}
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

// missing is the error for an entry that the login does not see: ErrEntryNotFound, or that it may not read the entry.
func (d Undos) missing(ctx context.Context, number int64) error {
	if err := Audit(d).checkEntry(ctx, number); err != nil {
		return err
	}
	var action string
	return d.db.Get(ctx, &action, `select action from audit_entries where number = $1`, number)
}

// lock blocks other changes to the tenants and the keys that the entries are about, and so to assignments. What changes a plan locks it.
func (d Undos) lock(ctx context.Context, entries []audit.Entry) error {
	var keyIDs, tenants []string
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Subject, "key_"):
			keyIDs = append(keyIDs, e.Subject)
		// Billing marks assignments as void and may not lock tenants: setVoid locks the assignment.
		case e.TenantID != 0 && !strings.HasSuffix(e.Action, "void"):
			tenants = append(tenants, fmt.Sprintf("#%d", e.TenantID))
		}
	}
	if len(tenants)+len(keyIDs) == 0 {
		return nil
	}
	return newDB(d.db).Lock(ctx, tenants, keyIDs)
}

// checkLatest refuses an entry whose subject has a later one that is none of numbers.
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
				return &UndoError{
					Entry: e, Why: fmt.Sprintf("entry %d (%s) is later, and only the latest change of a subject can be undone", l.Number, l.Action),
					Hint: fmt.Sprintf("see it: petstorectl audit show %d", l.Number),
				}
			}
		}
	}
	return err
}

// Latest returns the entries of the latest change of the session's login, or ErrEntryNotFound.
func (d Undos) Latest(ctx context.Context) (numbers []int64, err error) {
	defer wrap(&err, "find the latest change")
	err = d.db.Select(ctx, &numbers, `
		select generate_series(last.first_number, last.number) from (
		  select u.first_number, u.number from undo_values u join role_audit_entries a on a.number = u.number
		  where a.login = session_user::text collate "default" and a.at >= now() - interval '30 days'
		  order by u.number desc limit 1) last`)
	if err == nil && len(numbers) == 0 {
		err = ErrEntryNotFound
	}
	return numbers, err
}
