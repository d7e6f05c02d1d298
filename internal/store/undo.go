package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/pgconn"
)

// UndoAge is for how long an entry can be taken back.
const UndoAge = 30 * 24 * time.Hour

// Undone is a change that was taken back, and the change that did it.
type Undone struct {
	Entry audit.Entry
	// Action, Subject, Before and After are those of the new entry.
	Action, Subject string
	Before, After   json.RawMessage
	// Redacted are the members that the new entry does not hold.
	Redacted []string
}

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

// ErrEntryNotFound: the audit trail has no entry with that number, or none that the login may read.
var ErrEntryNotFound = errors.New("no such entry")

// undoStep is the undo of one entry.
type undoStep struct {
	db *DB
	by audit.By
	// now is the time by the client's clock, by which staff's changes of keys and bans happen.
	now   time.Time
	entry audit.Entry
	// hidden are the redacted members as they were before and after the change, nil if they are no longer kept.
	hidden *HiddenValues
	// gone are assignments that were taken back, and those that took their place.
	gone []int64
}

// undoers take back entries of the actions that can be taken back. The changes that they make say which entry they take back. It is no
// variable, because changes look whether they can be taken back.
func undoers() map[string]func(context.Context, undoStep) error {
	return map[string]func(context.Context, undoStep) error{
		"tenant.edit":     undoTenantEdit,
		"tenant.suspend":  undoSuspension,
		"tenant.resume":   undoResumption,
		"plan.assign":     undoAssignment,
		"plan.boost":      undoAssignment,
		"plan.move":       undoAssignment,
		"plan.unschedule": undoUnschedule,
		"plan.void":       undoVoid,
		"plan.unvoid":     undoUnvoid,
		"plan.edit":       undoPlanEdit,
		"plan.withdraw":   undoWithdrawal,
		"plan.retire":     undoRetirement,
		"plan.resell":     undoRetirement,
		"key.issue":       undoIssue,
		"key.unrevoke":    undoIssue,
		"key.edit":        undoKeyEdit,
		"key.rotate":      undoRotation,
		"key.revoke":      undoRevocation,
		"ban.place":       undoBan,
		"ban.lift":        undoLift,
	}
}

// final says of other actions why they can't be taken back, and what to do instead.
var final = map[string]UndoError{
	"tenant.create": {Why: "a tenant is not removed", Hint: "suspend it: petstorectl tenant suspend {name}"},
	"tenant.erase":  {Why: "what was erased is not kept anywhere"},
	"plan.create":   {Why: "a plan is never removed", Hint: "retire it: petstorectl plan retire {name}"},
	"plan.remove":   {Why: "it was made by SQL", Hint: "take it back by SQL, as the owner of the tables"},
	"limits.reset":  {Why: "requests were counted since, and what was used before is not kept"},
	"usage.close":   {Why: "a closed month never changes: what comes late is a correction in the next"},
	"retention.set": {Why: "what was removed since does not come back; set it again: petstorectl retention set"},
	"audit.remove":  {Why: "the entries are gone"},
	"usage.events":  {Why: "what the billing system has received stays there"},
	"staff.add":     {Why: "a login is a role of Postgres", Hint: "remove it: petstorectl staff remove {name}"},
	"staff.remove":  {Why: "the password was not kept", Hint: "add it again: petstorectl staff add {name}"},
	"staff.rotate":  {Why: "the former password was not kept", Hint: "set another one: petstorectl staff rotate {name}"},
}

// Undoable reports whether there are ways to take back entries of the action.
func Undoable(action string) bool { return undoers()[action] != nil }

// Actions are the actions that entries of the audit trail have, sorted.
func Actions() []string {
	actions := slices.AppendSeq(slices.Collect(maps.Keys(undoers())), maps.Keys(final))
	slices.Sort(actions)
	return actions
}

// Undos takes changes back.
type Undos struct{ db *pgconn.DB }

// Do takes the changes of these entries back, the latest first, all or none: each by a new change, whose reason names the entry. It
// returns ErrEntryNotFound, or an UndoError if one of them can't be taken back.
func (d Undos) Do(ctx context.Context, by audit.By, numbers []int64, now time.Time) (done []Undone, err error) {
	err = runChanges(ctx, d.db.LongTx, by, func(ctx context.Context, tx pgconn.Tx) error {
		db := newDB(d.db.In(tx))
		entries, err := db.Undos.entries(ctx, numbers)
		if err != nil {
			return err
		}
		if err := lockSubjects(ctx, db, entries); err != nil {
			return err
		}
		later, err := db.Undos.later(ctx, entries)
		if err != nil {
			return err
		}
		u := undoing{db: db, batch: changesOf(tx), by: by, now: now, later: later, taken: map[int64]bool{}, gone: map[int64][]int64{}}
		for _, e := range slices.Backward(entries) {
			one, err := u.undo(ctx, e)
			if err != nil {
				return err
			}
			done = append(done, one...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	return done, nil
}

// undoing is a batch that takes changes back.
type undoing struct {
	db    *DB
	batch *changes
	by    audit.By
	now   time.Time
	// later are the entries that follow those of the batch, by their subjects.
	later map[string][]audit.Entry
	// taken are the entries that the batch has taken back, and gone the assignments of tenants, as in undoStep.
	taken map[int64]bool
	gone  map[int64][]int64
}

func (u *undoing) undo(ctx context.Context, e entryToUndo) ([]Undone, error) {
	undo := undoers()[e.Action]
	if undo == nil {
		return nil, finalError(e.Entry)
	}
	if e.old {
		return nil, &UndoError{Entry: e.Entry, Why: fmt.Sprintf("it is older than %d days", UndoAge/(24*time.Hour))}
	}
	found := e.FindLater(u.later[e.Subject], u.taken)
	switch {
	case found.UndoneBy != nil:
		return nil, &UndoError{
			Entry: e.Entry, Why: fmt.Sprintf("entry %d took it back already", found.UndoneBy.Number),
			Hint: fmt.Sprintf("to make the change again: petstorectl undo %d", found.UndoneBy.Number),
		}
	case found.StandsUpon != nil:
		last := found.StandsUpon
		return nil, &UndoError{
			Entry: e.Entry, Why: fmt.Sprintf("entry %d (%s) changed the same later", last.Number, last.Action),
			Hint: fmt.Sprintf("see it: petstorectl audit show %d", last.Number),
		}
	}
	// An undo before this one may have given the tenant its former name.
	var err error
	if e.TenantName, err = u.db.Undos.tenantName(ctx, e.TenantID); err != nil {
		return nil, err
	}
	if e.TenantName == "" && e.TenantID != 0 {
		return nil, &UndoError{Entry: e.Entry, Why: "the tenant was erased"}
	}
	by := u.by
	by.Reason, by.Undoes = audit.UndoReason(e.Number, u.by.Reason), e.Number
	step := undoStep{
		db: u.db, by: by, now: u.now, entry: e.Entry, hidden: e.hidden,
		gone: slices.Concat(u.gone[e.TenantID], assignmentsOf(found.Cancelled)),
	}
	pending := len(u.batch.entries)
	if err := undo(ctx, step); err != nil {
		return nil, explainUndo(e.Entry, err)
	}
	made := u.batch.entries[pending:]
	u.taken[e.Number] = true
	u.gone[e.TenantID] = append(u.gone[e.TenantID], goneAfter(e.Entry, made)...)
	return undoneBy(e.Entry, made), nil
}

func explainUndo(e audit.Entry, err error) error {
	if own := (*UndoError)(nil); errors.As(err, &own) {
		own.Entry = e
		return own
	}
	return &UndoError{Entry: e, Err: err}
}

func finalError(e audit.Entry) error {
	reason, ok := final[e.Action]
	if !ok {
		return &UndoError{Entry: e, Why: "this petstorectl does not know how"}
	}
	reason.Entry = e
	reason.Hint = strings.ReplaceAll(reason.Hint, "{name}", nameOfSubject(e))
	return &reason
}

func undoneBy(e audit.Entry, made []pendingEntry) (all []Undone) {
	for _, p := range made {
		after := audit.Entry{After: json.RawMessage(p.after.String)}
		all = append(all, Undone{
			Entry: e, Action: p.entry.action, Subject: p.entry.subject,
			Before: json.RawMessage(p.before.String), After: after.After, Redacted: after.Redacted(),
		})
	}
	return all
}
