package store

import (
	"context"
	"slices"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
)

// undoAssignment makes the timeline from now on what it would be without what the change assigned, as plans.Timeline.TakeBack does.
func undoAssignment(ctx context.Context, s undoStep) error {
	_, made, err := records[assignmentRecord](s.entry)
	if err != nil {
		return err
	}
	if made.Assignment == 0 {
		return errBySQL
	}
	d, ids := Timelines{s.db}, append([]int64{made.Assignment}, made.Within...)
	return trail.Change(ctx, d.db, s.by, func(ctx context.Context, tx pgconn.Tx) error {
		var done PlanChange
		line, err := d.beginPlanChange(ctx, tx, s.tenant(), &done)
		if err != nil {
			return err
		}
		if done.Now, err = nextInstant(ctx, d.db, tx, done.Tenant.ID, done.Now); err != nil {
			return err
		}
		if slices.ContainsFunc(line.Coming(done.Now), func(a plans.Assignment) bool { return a.ID == ids[0] }) {
			_, err := d.Unschedule(ctx, s.by, ids[0])
			return err
		}
		if done.Change, err = line.TakeBack(ids, done.Now); err != nil {
			return err
		}
		if err := d.store(ctx, tx, &done); err != nil {
			return lastingBoostError(err)
		}
		// The innermost assignment, which is in force, and those around it.
		for _, a := range done.Added {
			if a.Kind != plans.End && a.From.Before(done.Now.Add(time.Millisecond)) {
				done.within, done.Assignment = append(done.within, a.ID), a
			}
		}
		done.within = done.within[:len(done.within)-1]
		done.Was = done.At(done.Now.Add(-time.Microsecond))
		return writePlanAudit(tx, s.by, "plan."+string(plans.Assigned), done)
	})
}

// lastingBoostError translates what a trigger refuses: an assignment with the numbers of a boost whose end was removed.
func lastingBoostError(err error) error {
	if pgconn.IsConstraint(err, "tenant_plans_numbers") {
		return &UndoError{Why: "a boost without an end was in force before", Hint: "assign the plan, and boost the tenant again: petstorectl plan boost --help"}
	}
	return err
}

// undoUnschedule schedules again what was removed.
func undoUnschedule(ctx context.Context, s undoStep) error {
	before, _, err := records[assignmentRecord](s.entry)
	if err != nil {
		return err
	}
	r := before.Removed
	switch {
	case r == nil:
		return errBySQL
	case !before.From.After(s.instant):
		return errOver("it would have begun at %s", before.From.UTC().Format(time.RFC3339))
	case r.Lasts != 0:
		return Timelines{s.db}.setEnd(ctx, s, r.Lasts, before.From, r.Then)
	}
	n := NewAssignment{Tenant: s.tenant(), Kind: r.Kind, Plan: r.Plan, From: before.From, Then: r.Then}
	if r.Kind == plans.Boost {
		n.Plan = ""
	}
	if r.PerMinute != 0 || r.PerDay != 0 {
		n.Own = &plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay}
	}
	if r.Until != nil {
		n.Until = func(time.Time) time.Time { return *r.Until }
	}
	_, err = Timelines{s.db}.Assign(ctx, s.by, n)
	return err
}

// setEnd lets an assignment end by itself again, as plans.Timeline.SetEnd does.
func (d Timelines) setEnd(ctx context.Context, s undoStep, id int64, until time.Time, then string) error {
	return trail.Change(ctx, d.db, s.by, func(ctx context.Context, tx pgconn.Tx) error {
		var done PlanChange
		line, err := d.beginPlanChange(ctx, tx, s.tenant(), &done)
		if err != nil {
			return err
		}
		if done.Change, err = line.SetEnd(id, until, then, done.Now); err != nil {
			return err
		}
		if err := d.readPlanChange(ctx, tx, &done); err != nil {
			return err
		}
		done.Was = done.At(until)
		if err := d.store(ctx, tx, &done); err != nil {
			return err
		}
		i := slices.IndexFunc(done.Added, func(a plans.Assignment) bool { return a.Kind == plans.End && a.From.Equal(until) })
		if i < 0 {
			return plans.ErrNothingToUndo
		}
		done.Assignment = done.Added[i]
		return writePlanAudit(tx, s.by, "plan."+string(plans.Assigned), done)
	})
}

func undoVoid(ctx context.Context, s undoStep) error {
	before, after, err := records[assignmentRecord](s.entry)
	if err != nil {
		return err
	}
	if after.Assignment == 0 {
		return errBySQL
	}
	_, err = Timelines{s.db}.setVoid(ctx, s.by, after.Assignment, before.VoidReason)
	return err
}
