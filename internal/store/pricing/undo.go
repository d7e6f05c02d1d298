package pricing

import (
	"context"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/undo"
)

// Undoers take back changes of plans and of tenants' timelines.
var Undoers = undo.Undoers{
	"plan.assign":     undoAssignment,
	"plan.boost":      undoAssignment,
	"plan.move":       undoAssignment,
	"plan.unschedule": undoUnschedule,
	"plan.void":       undoVoid,
	"plan.unvoid":     undoVoid,
	"plan.edit":       undoPlanEdit,
	"plan.withdraw":   undoWithdrawal,
	"plan.retire":     undoRetirement,
	"plan.resell":     undoRetirement,
}

// undoPlanEdit restores a plan's texts and its place in lists, and withdraws the version that the
// edit made. If that version has begun, a version with the former numbers begins now, for all that
// follow it.
func undoPlanEdit(ctx context.Context, s undo.Step) error {
	before, after, err := undo.Records[planRecord](s.Entry)
	if err != nil {
		return err
	}
	if before.Version == 0 || after.Version == 0 {
		return undo.ErrBySQL
	}
	d, name, e := Plans{s.DB}, undo.NameOf(s.Entry), PlanEdit{}
	if before.Title != after.Title {
		e.Title = &before.Title
	}
	if before.Price != after.Price {
		e.Price = &before.Price
	}
	if before.Unlisted != after.Unlisted {
		e.Unlisted = &before.Unlisted
	}
	switch {
	case before.Version == after.Version:
	case after.From.After(s.Instant.Add(plans.WithdrawMargin)):
		if _, err := d.Withdraw(ctx, s.By, name, after.Version); err != nil || e == (PlanEdit{}) {
			return err
		}
	default:
		e.Numbers = &plans.VersionEdit{PerMinute: before.PerMinute, PerDay: before.PerDay}
		e.Numbers.Month = before.Since(after.MonthRecord)
	}
	_, err = d.Edit(ctx, s.By, name, e)
	return err
}

// undoWithdrawal schedules the withdrawn version again.
func undoWithdrawal(ctx context.Context, s undo.Step) error {
	v, last, err := undo.Records[planRecord](s.Entry)
	if err != nil {
		return err
	}
	if !v.From.After(s.Instant) {
		return undo.Over("version %d would have begun at %s", v.Version, v.From.Format(time.RFC3339))
	}
	_, err = Plans{s.DB}.Edit(ctx, s.By, undo.NameOf(s.Entry), PlanEdit{Numbers: &plans.VersionEdit{
		PerMinute: v.PerMinute, PerDay: v.PerDay, Month: v.Since(last.MonthRecord), From: v.From,
		KeepExisting: v.Generation != last.Generation,
	}})
	return err
}

// undoRetirement sells the plan again, or retires it at its former time.
func undoRetirement(ctx context.Context, s undo.Step) error {
	before, _, err := undo.Records[planRecord](s.Entry)
	if err != nil {
		return err
	}
	d, action, at := Plans{s.DB}, "plan.resell", time.Time{}
	if before.RetiresAt != nil {
		action, at = "plan.retire", *before.RetiresAt
		if at.Before(s.Instant) {
			at = s.Instant
		}
	}
	name := undo.NameOf(s.Entry)
	_, err = d.changePlan(
		ctx,
		s.By,
		action,
		name,
		func(ctx context.Context, tx pgconn.Tx, _ plans.Plan, _ plans.Version, done *EditedPlan) error {
			return d.setRetired(ctx, tx, name, at, done)
		},
	)
	return err
}
