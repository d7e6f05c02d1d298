package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// errErased: the values to restore were erased, or the entry is older than they are kept.
var errErased = &UndoError{Why: "the former values are no longer kept"}

// errBySQL: the entry was written by a trigger, for a change that somebody made by SQL.
var errBySQL = &UndoError{Why: "it was made by SQL", Hint: "take it back by SQL, or make another change"}

// errOver: what the entry changed has ended by itself.
func errOver(format string, args ...any) error { return &UndoError{Why: fmt.Sprintf(format, args...)} }

// nameOfSubject is the name that commands take.
func nameOfSubject(e audit.Entry) string {
	if e.TenantName != "" && e.Subject == audit.TenantSubject(e.TenantID) {
		return e.TenantName
	}
	_, name, ok := strings.Cut(e.Subject, ":")
	if !ok {
		return e.Subject
	}
	return name
}

// records reads the records of an entry before and after the change.
func records[T any](e audit.Entry) (before, after T, err error) {
	if len(e.Before) > 0 {
		err = json.Unmarshal(e.Before, &before)
	}
	if len(e.After) > 0 {
		err = errors.Join(err, json.Unmarshal(e.After, &after))
	}
	return before, after, err
}

// former returns the value of a redacted member before the change, nil if the change did not change it.
func (s undoStep) former(member string) (*string, error) {
	if !slices.Contains(s.entry.Redacted(), member) {
		return nil, nil
	}
	if s.hidden == nil {
		return nil, errErased
	}
	value := s.hidden.Before[member]
	return &value, nil
}

func undoTenantEdit(ctx context.Context, s undoStep) error {
	before, after, err := records[tenantRecord](s.entry)
	if err != nil {
		return err
	}
	var e TenantEdit
	if before.BillingRef != after.BillingRef {
		e.BillingRef = &before.BillingRef
	}
	for member, edit := range map[string]**string{"name": &e.Name, "email": &e.Email, "contact": &e.Contact, "notes": &e.Notes} {
		if *edit, err = s.former(member); err != nil {
			return err
		}
	}
	// By number: another undo may have changed the name.
	_, _, err = s.db.Tenants.Edit(ctx, s.by, fmt.Sprintf("#%d", s.entry.TenantID), e)
	return err
}

func undoSuspension(ctx context.Context, s undoStep) error {
	_, err := s.db.Tenants.Resume(ctx, s.by, s.entry.TenantName)
	return err
}

func undoResumption(ctx context.Context, s undoStep) error {
	_, err := s.db.Tenants.Suspend(ctx, s.by, s.entry.TenantName, time.Time{})
	return err
}

func undoAssignment(ctx context.Context, s undoStep) error {
	ids := idsOf(s.entry.After)
	if len(ids) == 0 {
		return errBySQL
	}
	return s.db.Timelines.takeBack(ctx, s.by, s.entry.TenantName, ids, s.gone)
}

// idsOf returns the assignments that an entry names: what it added, the innermost first.
func idsOf(after json.RawMessage) []int64 {
	var r assignmentRecord
	if json.Unmarshal(after, &r) != nil || r.Assignment == 0 {
		return nil
	}
	return append([]int64{r.Assignment}, r.Within...)
}

// assignmentsOf returns the assignments of changes that were taken back, and those that took their place. One that was unscheduled, and
// added again, is none of them.
func assignmentsOf(cancelled []audit.Undone) (ids []int64) {
	for _, c := range cancelled {
		if c.Change.Action != "plan.unschedule" && c.By.Action != "plan.unschedule" {
			ids = append(append(ids, idsOf(c.Change.After)...), idsOf(c.By.After)...)
		}
	}
	return ids
}

// goneAfter is assignmentsOf for an entry that this batch has taken back.
func goneAfter(e audit.Entry, made []pendingEntry) (ids []int64) {
	if !strings.HasPrefix(e.Action, "plan.") || e.TenantID == 0 {
		return nil
	}
	for _, p := range made {
		by := audit.Entry{Action: p.entry.action, After: json.RawMessage(p.after.String)}
		ids = append(ids, assignmentsOf([]audit.Undone{{Change: &e, By: &by}})...)
	}
	return ids
}

// now is the instant by the clock by which plans change.
func (d Timelines) now(ctx context.Context) (now time.Time, err error) {
	err = d.db.Get(ctx, &now, `select coalesce($1::timestamptz, clock_timestamp())`, d.db.Now())
	return now.UTC(), err
}

// takeBack makes a tenant's timeline from now on what it would be without these assignments, as plans.Timeline.TakeBack does.
func (d Timelines) takeBack(ctx context.Context, by audit.By, tenant string, ids, gone []int64) error {
	return change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		var done PlanChange
		line, err := d.beginPlanChange(ctx, tx, tenant, &done)
		if err != nil {
			return err
		}
		if done.Now, err = nextInstant(ctx, d.db, tx, done.Tenant.ID, done.Now); err != nil {
			return err
		}
		if i := slices.IndexFunc(line.Assignments, func(a plans.Assignment) bool { return a.ID == ids[0] }); i >= 0 && line.Assignments[i].From.After(done.Now) {
			_, err := d.Unschedule(ctx, by, ids[0])
			return err
		}
		if done.Change, err = line.TakeBack(ids, gone, done.Now); err != nil {
			return err
		}
		if done.Change, err = applyChange(ctx, tx, done.Tenant.ID, done.Change); err != nil {
			return assignmentError(err)
		}
		return d.auditTakeBack(ctx, tx, by, &done)
	})
}

// auditTakeBack writes the entry of what takeBack assigned: the innermost assignment, which is in force, and those around it.
func (d Timelines) auditTakeBack(ctx context.Context, tx pgconn.Tx, by audit.By, done *PlanChange) error {
	began := done.Now
	for _, a := range done.Added {
		if a.Kind != plans.End && !a.From.Before(began) && a.From.Before(began.Add(time.Millisecond)) {
			if done.Assignment.ID != 0 {
				done.within = append(done.within, done.Assignment.ID)
			}
			done.Assignment, done.Now = a, a.From
		}
	}
	if err := d.readPlanChange(ctx, tx, done); err != nil {
		return err
	}
	periods, err := readPeriods(ctx, tx, done.Tenant.ID, began.Add(-time.Microsecond))
	if err != nil {
		return err
	}
	done.Was = periodAt(periods, began.Add(-time.Microsecond))
	return writePlanAudit(tx, by, "plan."+string(plans.Assigned), *done)
}

// undoUnschedule schedules again what was removed.
func undoUnschedule(ctx context.Context, s undoStep) error {
	before, _, err := records[assignmentRecord](s.entry)
	if err != nil {
		return err
	}
	r := before.Removed
	if r == nil {
		return errBySQL
	}
	if r.Lasts != 0 {
		return s.db.Timelines.setEnd(ctx, s.by, s.entry.TenantName, r.Lasts, before.From, r.Then)
	}
	n := NewAssignment{Tenant: s.entry.TenantName, Kind: r.Kind, Plan: r.Plan, From: before.From, Then: r.Then}
	if r.Kind == plans.Boost {
		n.Plan = ""
	}
	if r.PerMinute != 0 || r.PerDay != 0 {
		n.Own = &plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay}
	}
	if r.Until != nil {
		n.Until = func(time.Time) time.Time { return *r.Until }
	}
	_, err = s.db.Timelines.Assign(ctx, s.by, n)
	if errors.Is(err, plans.ErrInPast) {
		return errOver("it would have begun at %s", before.From.UTC().Format(time.RFC3339))
	}
	return err
}

// setEnd lets an assignment end by itself again, as plans.Timeline.SetEnd does.
func (d Timelines) setEnd(ctx context.Context, by audit.By, tenant string, id int64, until time.Time, then string) error {
	return change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		var done PlanChange
		line, err := d.beginPlanChange(ctx, tx, tenant, &done)
		if err != nil {
			return err
		}
		done.Change, err = line.SetEnd(id, until, then, done.Now)
		if errors.Is(err, plans.ErrInPast) {
			return errOver("the end was to be at %s", until.UTC().Format(time.RFC3339))
		}
		if err != nil {
			return err
		}
		if err := d.readPlanChange(ctx, tx, &done); err != nil {
			return err
		}
		done.Was = done.At(until)
		if done.Change, err = applyChange(ctx, tx, done.Tenant.ID, done.Change); err != nil {
			return err
		}
		if err := d.readPlanChange(ctx, tx, &done); err != nil {
			return err
		}
		i := slices.IndexFunc(done.Added, func(a plans.Assignment) bool { return a.Kind == plans.End && a.From.Equal(until) })
		if i < 0 {
			return plans.ErrNothingToUndo
		}
		done.Assignment = done.Added[i]
		return writePlanAudit(tx, by, "plan."+string(plans.Assigned), done)
	})
}

// assignmentError translates what the trigger of migration 0030 refuses.
func assignmentError(err error) error {
	if pgconn.IsConstraint(err, "tenant_plans_retired") {
		return errors.Join(plans.ErrPlanRetired, err)
	}
	return err
}

func undoVoid(ctx context.Context, s undoStep) error {
	_, after, err := records[assignmentRecord](s.entry)
	if err != nil {
		return err
	}
	if after.Assignment == 0 {
		return errBySQL
	}
	_, err = s.db.Timelines.setVoid(ctx, s.by, after.Assignment, "")
	return err
}

func undoUnvoid(ctx context.Context, s undoStep) error {
	before, _, err := records[assignmentRecord](s.entry)
	if err != nil {
		return err
	}
	if before.VoidReason == "" {
		return errErased
	}
	_, err = s.db.Timelines.setVoid(ctx, s.by, before.Assignment, before.VoidReason)
	return err
}
