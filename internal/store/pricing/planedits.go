package pricing

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// EditedPlan is a plan after a change of the price list.
type EditedPlan struct {
	Plan plans.Plan
	// Changed is false if the edit changed nothing.
	Changed bool
	// Version is the version that was made or withdrawn, nil for none.
	Version *plans.Version
	// Followers are the tenants that follow the version before. They move to this one, or keep
	// their numbers if KeepExisting is set.
	Followers    []int64
	KeepExisting bool
}

// NewPlan is a plan before it is sold.
type NewPlan struct {
	Name, Title, Price string
	Unlisted           bool
	// Quota is nil for a plan whose numbers are agreed with each tenant.
	Quota *plans.Quota
	// From is when it can first be assigned; zero for now.
	From time.Time
}

// Create adds a plan with its first version. It returns plans.ErrPlanName, ErrPlanExists,
// ErrVersionPast, or what is wrong with the numbers.
func (d Plans) Create(ctx context.Context, by audit.By, n NewPlan) (done EditedPlan, err error) {
	defer pgconn.Wrap(&err, "create plan")
	err = plans.CheckPlanName(n.Name)
	if err == nil && n.Quota != nil {
		err = cmp.Or(n.Quota.Validate(), n.Quota.ValidateDay())
	}
	if err != nil {
		return EditedPlan{}, err
	}
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		now, err := pgconn.Instant(ctx, d.db, tx, time.Time{})
		if err != nil {
			return err
		}
		if n.From.IsZero() {
			n.From = now
		}
		if n.From.Before(now) {
			return plans.ErrVersionPast
		}
		_, err = tx.Exec(ctx, `
			insert into price_list (name, position, title, price, unlisted)
			select $1, coalesce(max(position), 0) + 1, $2, $3, $4 from price_list`,
			n.Name, n.Title, n.Price, n.Unlisted)
		if err != nil {
			return pgconn.Meaning(err, versionRules)
		}
		version := plans.Version{Plan: n.Name, Number: 1, Generation: 1, Quota: n.Quota, From: n.From}
		if err := insertVersion(ctx, tx, version); err != nil {
			return err
		}
		plan, version, err := lockPlan(ctx, d.db, tx, n.Name)
		if err != nil {
			return err
		}
		done = EditedPlan{Plan: plan, Changed: true, Version: &version}
		return trail.Write(
			tx,
			by,
			trail.Entry{Action: "plan.create", Subject: PlanSubject(n.Name), After: recordPlan(plan, version)},
		)
	})
	return done, err
}

func insertVersion(ctx context.Context, tx pgconn.Tx, v plans.Version) error {
	perMinute, perDay := ownColumns(v.Quota)
	var month plans.Month
	if v.Quota != nil {
		month = v.Quota.Month
	}
	_, err := tx.Exec(ctx, `
		insert into plan_versions (plan, version, generation, valid_from, per_minute, per_day, month, per_month,
			overage, overage_value)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		append(
			[]any{v.Plan, v.Number, v.Generation, v.From, perMinute, perDay},
			tenants.ColumnsOf(month.Over(plans.Month{Kind: plans.NoMonth})).Args()...)...)
	return pgconn.Meaning(err, versionRules)
}

// PlanEdit is a change of a plan. Nil leaves a member unchanged.
type PlanEdit struct {
	Title, Price *string
	Unlisted     *bool
	Numbers      *plans.VersionEdit
}

// Edit changes a plan. Other numbers make a new version; the rest belongs to all versions. If
// nothing differs, nothing is changed or audited. It returns plans.ErrPlanNotFound or an error of
// plans.VersionEdit.Next.
func (d Plans) Edit(ctx context.Context, by audit.By, name string, edit PlanEdit) (EditedPlan, error) {
	return d.changePlan(
		ctx,
		by,
		"plan.edit",
		name,
		func(ctx context.Context, tx pgconn.Tx, p plans.Plan, last plans.Version, done *EditedPlan) error {
			if edit.Numbers != nil {
				if err := d.addVersion(ctx, tx, *edit.Numbers, last, done); err != nil {
					return err
				}
			}
			changed, err := tx.Exec(ctx, `
				update price_list set title = coalesce($2, title), price = coalesce($3, price),
					unlisted = coalesce($4, unlisted)
				where name = $1 and (title, price, unlisted) is distinct from
					(coalesce($2, title), coalesce($3, price), coalesce($4, unlisted))`,
				name, edit.Title, edit.Price, edit.Unlisted)
			done.Changed = done.Changed || changed > 0
			return err
		},
	)
}

// addVersion adds the version of an edit, if its numbers differ from the last version's.
func (d Plans) addVersion(
	ctx context.Context,
	tx pgconn.Tx,
	edit plans.VersionEdit,
	last plans.Version,
	done *EditedPlan,
) error {
	now, err := pgconn.Instant(ctx, d.db, tx, time.Time{})
	if err != nil {
		return err
	}
	next, ok, err := edit.Next(last, now)
	if err != nil || !ok {
		return err
	}
	done.Changed, done.Version, done.KeepExisting = true, &next, edit.KeepExisting
	if done.Followers, err = followers(ctx, tx, next.Plan, last.Generation, next.From); err != nil {
		return err
	}
	if err := insertVersion(ctx, tx, next); err != nil {
		return err
	}
	return checkBoosts(ctx, tx, next.Plan, next.Number)
}

// checkBoosts returns a plans.NumbersError if a boost would admit no request of a month under the
// version.
func checkBoosts(ctx context.Context, tx pgconn.Tx, plan string, version int) error {
	var names []string
	err := tx.Select(ctx, &names, `
		select t.name from quota_periods q join tenants t on t.id = q.tenant_id
		where q.plan = $1 and q.version = $2 and q.per_month + q.overage_limit = 0 and q.voided_at is null
		order by t.name limit 1`, plan, version)
	if err != nil || len(names) == 0 {
		return err
	}
	return plans.NumbersError{Err: fmt.Errorf(
		"a boost of tenant %s would admit no request of a month: see petstorectl plan schedule --tenant %s",
		names[0], names[0],
	)}
}

// Withdraw removes the last version of a plan before it begins; number 0 stands for the last one.
// It returns plans.ErrPlanNotFound, ErrVersionNotFound, ErrVersionNotLast, ErrVersionFirst,
// ErrVersionBegun or ErrVersionFollowed.
func (d Plans) Withdraw(ctx context.Context, by audit.By, name string, number int) (EditedPlan, error) {
	return d.changePlan(
		ctx,
		by,
		"plan.withdraw",
		name,
		func(ctx context.Context, tx pgconn.Tx, _ plans.Plan, last plans.Version, done *EditedPlan) error {
			now, err := pgconn.Instant(ctx, d.db, tx, time.Time{})
			if err != nil {
				return err
			}
			switch {
			case number < 0 || number > last.Number:
				return plans.ErrVersionNotFound
			case number != 0 && number < last.Number && last.From.After(now):
				return plans.ErrVersionNotLast
			case last.Number == 1:
				return plans.ErrVersionFirst
			case number != 0 && number < last.Number || !last.From.After(now.Add(plans.WithdrawMargin)):
				return plans.ErrVersionBegun
			}
			done.Changed, done.Version = true, &last
			_, err = tx.Exec(ctx, `delete from plan_versions where plan = $1 and version = $2`, name, last.Number)
			return pgconn.Meaning(err, versionRules)
		},
	)
}

// Retire ends the sale of a plan at an instant, zero for now. Its tenants stay. It returns
// plans.ErrPlanNotFound, ErrPlanRetired if the plan is retired already, or ErrVersionPast.
func (d Plans) Retire(ctx context.Context, by audit.By, name string, at time.Time) (EditedPlan, error) {
	return d.changePlan(
		ctx,
		by,
		"plan.retire",
		name,
		func(ctx context.Context, tx pgconn.Tx, p plans.Plan, _ plans.Version, done *EditedPlan) error {
			now, err := pgconn.Instant(ctx, d.db, tx, time.Time{})
			if err != nil {
				return err
			}
			if at.IsZero() {
				at = now
			}
			switch {
			case !p.RetiresAt.IsZero() && !p.RetiresAt.After(now):
				return plans.ErrPlanRetired
			case at.Before(now):
				return plans.ErrVersionPast
			case p.RetiresAt.Equal(at):
				return nil
			}
			return d.setRetired(ctx, tx, name, at, done)
		},
	)
}

// Resell sells a retired or retiring plan again. It returns plans.ErrPlanNotFound.
func (d Plans) Resell(ctx context.Context, by audit.By, name string) (EditedPlan, error) {
	return d.changePlan(
		ctx,
		by,
		"plan.resell",
		name,
		func(ctx context.Context, tx pgconn.Tx, p plans.Plan, _ plans.Version, done *EditedPlan) error {
			if p.RetiresAt.IsZero() {
				return nil
			}
			return d.setRetired(ctx, tx, name, time.Time{}, done)
		},
	)
}

func (d Plans) setRetired(ctx context.Context, tx pgconn.Tx, name string, at time.Time, done *EditedPlan) error {
	done.Changed = true
	_, err := tx.Exec(ctx, `update price_list set retires_at = $2 where name = $1`, name, pgconn.NullTime(at))
	return err
}

// changePlan runs fn on a plan and its last version, locks them against other changes, and writes
// the audit entry if fn sets Changed.
func (d Plans) changePlan(
	ctx context.Context,
	by audit.By,
	action, name string,
	fn func(context.Context, pgconn.Tx, plans.Plan, plans.Version, *EditedPlan) error,
) (done EditedPlan, err error) {
	defer pgconn.Wrap(&err, action)
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, last, err := lockPlan(ctx, d.db, tx, name)
		if err != nil {
			return err
		}
		done = EditedPlan{Plan: before}
		if err := fn(ctx, tx, before, last, &done); err != nil || !done.Changed {
			return err
		}
		after, newest, err := lockPlan(ctx, d.db, tx, name)
		if err != nil {
			return err
		}
		done.Plan = after
		return trail.Write(tx, by, trail.Entry{
			Action:  action,
			Subject: PlanSubject(name),
			Before:  recordPlan(before, last),
			After:   recordPlan(after, newest),
		})
	})
	return done, err
}
