package pricing

import (
	"context"
	"slices"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
	"petstore.example/internal/store/undo"
)

// undoAssignment changes the timeline from now on to what it would be without the change, as
// plans.Timeline.TakeBack does.
func undoAssignment(ctx context.Context, s undo.Step) error {
	_, made, err := undo.Records[assignmentRecord](s.Entry)
	if err != nil {
		return err
	}
	if made.Assignment == 0 {
		return undo.ErrBySQL
	}
	d, ids := Timelines{s.DB}, append([]int64{made.Assignment}, made.Within...)
	return trail.Change(ctx, d.db, s.By, func(ctx context.Context, tx pgconn.Tx) error {
		var done PlanChange
		line, err := d.beginPlanChange(ctx, tx, s.Tenant(), &done)
		if err != nil {
			return err
		}
		if done.Now, err = nextInstant(ctx, d.db, tx, done.Tenant.ID, done.Now); err != nil {
			return err
		}
		if slices.ContainsFunc(line.Coming(done.Now), func(a plans.Assignment) bool { return a.ID == ids[0] }) {
			_, err := d.Unschedule(ctx, s.By, ids[0])
			return err
		}
		if done.Change, err = line.TakeBack(ids, done.Now); err != nil {
			return err
		}
		if err := d.store(ctx, tx, &done); err != nil {
			return lastingBoostError(err)
		}
		// Assignment becomes the innermost of the added assignments in force, within gets those
		// around it.
		for _, a := range done.Added {
			if a.Kind != plans.End && a.From.Before(done.Now.Add(time.Millisecond)) {
				done.within, done.Assignment = append(done.within, a.ID), a
			}
		}
		done.within = done.within[:len(done.within)-1]
		done.Was = done.At(done.Now.Add(-time.Microsecond))
		return writePlanAudit(tx, s.By, "plan."+string(plans.Assigned), done)
	})
}

// lastingBoostError translates a trigger's refusal of an assignment with the numbers of a boost
// whose end was removed.
func lastingBoostError(err error) error {
	if pgconn.IsConstraint(err, "tenant_plans_numbers") {
		return &undo.Error{
			Why:  "a boost without an end was in force before",
			Hint: "assign the plan, and boost the tenant again: petstorectl plan boost --help",
		}
	}
	return err
}

// undoUnschedule schedules the removed assignment again.
func undoUnschedule(ctx context.Context, s undo.Step) error {
	before, _, err := undo.Records[assignmentRecord](s.Entry)
	if err != nil {
		return err
	}
	r := before.Removed
	switch {
	case r == nil:
		return undo.ErrBySQL
	case !before.From.After(s.Instant):
		return undo.Over("it would have begun at %s", before.From.UTC().Format(time.RFC3339))
	case r.Lasts != 0:
		return Timelines{s.DB}.setEnd(ctx, s, r.Lasts, before.From, r.Then)
	}
	n := NewAssignment{Tenant: s.Tenant(), Kind: r.Kind, Plan: r.Plan, From: before.From, Then: r.Then}
	if r.Kind == plans.Boost {
		n.Plan = ""
	}
	if own := (plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay, Month: r.Change()}); own != (plans.Quota{}) {
		n.Own = &own
	}
	if r.Until != nil {
		n.Until = func(time.Time) time.Time { return *r.Until }
	}
	_, err = Timelines{s.DB}.Assign(ctx, s.By, n)
	return err
}

// setEnd lets an assignment end by itself again, as plans.Timeline.SetEnd does.
func (d Timelines) setEnd(ctx context.Context, s undo.Step, id int64, until time.Time, then string) error {
	return trail.Change(ctx, d.db, s.By, func(ctx context.Context, tx pgconn.Tx) error {
		var done PlanChange
		line, err := d.beginPlanChange(ctx, tx, s.Tenant(), &done)
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
		i := slices.IndexFunc(
			done.Added,
			func(a plans.Assignment) bool { return a.Kind == plans.End && a.From.Equal(until) },
		)
		if i < 0 {
			return plans.ErrNothingToUndo
		}
		done.Assignment = done.Added[i]
		return writePlanAudit(tx, s.By, "plan."+string(plans.Assigned), done)
	})
}

func undoVoid(ctx context.Context, s undo.Step) error {
	before, after, err := undo.Records[assignmentRecord](s.Entry)
	if err != nil {
		return err
	}
	if after.Assignment == 0 {
		return undo.ErrBySQL
	}
	_, err = Timelines{s.DB}.setVoid(ctx, s.By, after.Assignment, before.VoidReason)
	return err
}
