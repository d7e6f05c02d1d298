package store

import (
	"context"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

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
	d, name := s.db.Plans, nameOfSubject(s.entry)
	now, err := s.db.Timelines.now(ctx)
	if err != nil {
		return err
	}
	made := before.Version != after.Version
	withdraw := made && after.From.After(now.Add(plans.WithdrawMargin))
	action := "plan.edit"
	if withdraw && before.Title == after.Title && before.Price == after.Price {
		action = "plan.withdraw"
	}
	_, err = d.changePlan(ctx, s.by, action, name, func(ctx context.Context, tx pgconn.Tx, p plans.Plan, last plans.Version, done *EditedPlan) error {
		switch {
		case withdraw:
			done.Changed, done.Version = true, &last
			if _, err := tx.Exec(ctx, `delete from plan_versions where plan = $1 and version = $2`, name, after.Version); err != nil {
				return versionError(err)
			}
		case made:
			edit := plans.VersionEdit{PerMinute: before.PerMinute, PerDay: before.PerDay}
			if err := d.addVersion(ctx, tx, edit, last, done); err != nil {
				return err
			}
		}
		if before.Title == after.Title && before.Price == after.Price {
			return nil
		}
		done.Changed = true
		_, err := tx.Exec(ctx, `update price_list set title = $2, price = $3 where name = $1`, name, before.Title, before.Price)
		return err
	})
	return err
}

// undoWithdrawal schedules the version again that was withdrawn.
func undoWithdrawal(ctx context.Context, s undoStep) error {
	before, _, err := records[planRecord](s.entry)
	if err != nil {
		return err
	}
	name := nameOfSubject(s.entry)
	now, err := s.db.Timelines.now(ctx)
	if err != nil {
		return err
	}
	if !before.From.After(now) {
		return errOver("version %d would have begun at %s", before.Version, before.From.Format(time.RFC3339))
	}
	_, err = s.db.Plans.changePlan(ctx, s.by, "plan.edit", name, func(ctx context.Context, tx pgconn.Tx, _ plans.Plan, _ plans.Version, done *EditedPlan) error {
		v := plans.Version{Plan: name, Number: before.Version, Generation: before.Generation, From: before.From}
		if before.PerMinute != 0 {
			v.Quota = &plans.Quota{PerMinute: before.PerMinute, PerDay: before.PerDay}
		}
		done.Changed, done.Version = true, &v
		return insertVersion(ctx, tx, v)
	})
	return err
}

// undoRetirement sells the plan again, or retires it when it was to retire: of plan.retire and of plan.resell.
func undoRetirement(ctx context.Context, s undoStep) error {
	before, _, err := records[planRecord](s.entry)
	if err != nil {
		return err
	}
	name := nameOfSubject(s.entry)
	if before.RetiresAt == nil {
		_, err = s.db.Plans.Resell(ctx, s.by, name)
		return err
	}
	now, err := s.db.Timelines.now(ctx)
	if err != nil {
		return err
	}
	at := *before.RetiresAt
	if at.Before(now) {
		at = now
	}
	_, err = s.db.Plans.changePlan(ctx, s.by, "plan.retire", name, func(ctx context.Context, tx pgconn.Tx, _ plans.Plan, _ plans.Version, done *EditedPlan) error {
		return s.db.Plans.setRetired(ctx, tx, name, at, done)
	})
	return err
}
