package store

import (
	"context"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// planUndoers take back changes of plans and of tenants' timelines.
var planUndoers = undoers{
	"plan.assign": undoAssignment, "plan.boost": undoAssignment, "plan.move": undoAssignment, "plan.unschedule": undoUnschedule,
	"plan.void": undoVoid, "plan.unvoid": undoVoid,
	"plan.edit": undoPlanEdit, "plan.withdraw": undoWithdrawal, "plan.retire": undoRetirement, "plan.resell": undoRetirement,
}

// undoPlanEdit gives a plan its title and its price back, and withdraws the version that the edit made. If that has begun, a version with
// the numbers of before begins now, for all that follow it.
func undoPlanEdit(ctx context.Context, s undoStep) error {
	before, after, err := records[planRecord](s.entry)
	if err != nil {
		return err
	}
	if before.Version == 0 || after.Version == 0 {
		return errBySQL
	}
	d, name, e := Plans{s.db}, nameOfSubject(s.entry), PlanEdit{}
	if before.Title != after.Title {
		e.Title = &before.Title
	}
	if before.Price != after.Price {
		e.Price = &before.Price
	}
	switch {
	case before.Version == after.Version:
	case after.From.After(s.instant.Add(plans.WithdrawMargin)):
		if _, err := d.Withdraw(ctx, s.by, name, after.Version); err != nil || e == (PlanEdit{}) {
			return err
		}
	default:
		e.Numbers = &plans.VersionEdit{PerMinute: before.PerMinute, PerDay: before.PerDay}
	}
	_, err = d.Edit(ctx, s.by, name, e)
	return err
}

// undoWithdrawal schedules the version again that was withdrawn.
func undoWithdrawal(ctx context.Context, s undoStep) error {
	v, last, err := records[planRecord](s.entry)
	if err != nil {
		return err
	}
	if !v.From.After(s.instant) {
		return errOver("version %d would have begun at %s", v.Version, v.From.Format(time.RFC3339))
	}
	_, err = Plans{s.db}.Edit(ctx, s.by, nameOfSubject(s.entry), PlanEdit{Numbers: &plans.VersionEdit{
		PerMinute: v.PerMinute, PerDay: v.PerDay, From: v.From, KeepExisting: v.Generation != last.Generation,
	}})
	return err
}

// undoRetirement sells the plan again, or retires it when it was to retire.
func undoRetirement(ctx context.Context, s undoStep) error {
	before, _, err := records[planRecord](s.entry)
	if err != nil {
		return err
	}
	d, action, at := Plans{s.db}, "plan.resell", time.Time{}
	if before.RetiresAt != nil {
		action, at = "plan.retire", *before.RetiresAt
		if at.Before(s.instant) {
			at = s.instant
		}
	}
	name := nameOfSubject(s.entry)
	_, err = d.changePlan(ctx, s.by, action, name, func(ctx context.Context, tx pgconn.Tx, _ plans.Plan, _ plans.Version, done *EditedPlan) error {
		return d.setRetired(ctx, tx, name, at, done)
	})
	return err
}
