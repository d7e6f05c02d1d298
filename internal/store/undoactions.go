package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// records reads the records of an entry before and after the change.
func records[T any](e audit.Entry) (before, after T, err error) {
	for record, text := range map[*T]json.RawMessage{&before: e.Before, &after: e.After} {
		if len(text) > 0 {
			err = errors.Join(err, json.Unmarshal(text, record))
		}
	}
	return before, after, err
}

// former sets the redacted members that the change changed to their values before it.
func (s undoStep) former(ctx context.Context, members map[string]**string) error {
	for _, name := range s.entry.Redacted() {
		hidden, err := readHidden(ctx, s.db.pg, s.entry.Number)
		if err != nil {
			return err
		}
		if hidden == nil {
			return &UndoError{Why: "the former values are no longer kept"}
		}
		value := hidden.Before[name]
		*members[name] = &value
	}
	return nil
}

// tenant names the tenant by its number: another undo of the batch may change its name.
func (s undoStep) tenant() string { return fmt.Sprintf("#%d", s.entry.TenantID) }

func undoTenantEdit(ctx context.Context, s undoStep) error {
	before, after, err := records[tenantRecord](s.entry)
	var e TenantEdit
	if before.BillingRef != after.BillingRef {
		e.BillingRef = &before.BillingRef
	}
	err = errors.Join(err, s.former(ctx, map[string]**string{"name": &e.Name, "email": &e.Email, "contact": &e.Contact, "notes": &e.Notes}))
	if err == nil {
		_, _, err = s.db.Tenants.Edit(ctx, s.by, s.tenant(), e)
	}
	return err
}

func undoSuspension(ctx context.Context, s undoStep) (err error) {
	if s.entry.Action == "tenant.suspend" {
		_, err = s.db.Tenants.Resume(ctx, s.by, s.tenant())
		return err
	}
	_, err = s.db.Tenants.Suspend(ctx, s.by, s.tenant(), time.Time{})
	return err
}

// undoIssue revokes the key: of key.issue and of key.unrevoke.
func undoIssue(ctx context.Context, s undoStep) error {
	_, err := s.db.Keys.Revoke(ctx, s.by, s.entry.Subject, s.now)
	return err
}

func undoRevocation(ctx context.Context, s undoStep) error {
	_, err := s.db.Keys.Unrevoke(ctx, s.by, s.entry.Subject, s.now)
	for _, refusal := range []error{keys.ErrRevocationFinal, keys.ErrRevokedByOther} {
		if errors.Is(err, refusal) {
			return &UndoError{Why: refusal.Error(), Hint: "issue another key: petstorectl key issue " + s.entry.TenantName}
		}
	}
	return err
}

// undoKeyEdit restores the name, the limit and the expiry: of key.edit, and of key.rotate, which set the expiry of the old key. The new key
// of a rotation is another entry, that of its issue.
func undoKeyEdit(ctx context.Context, s undoStep) error {
	before, after, err := records[keyRecord](s.entry)
	if err != nil {
		return err
	}
	var e keys.Edit
	if before.PerMinute != after.PerMinute {
		e.PerMinute = &before.PerMinute
	}
	if err := s.former(ctx, map[string]**string{"name": &e.Name}); err != nil {
		return err
	}
	was, is := timeOrZero(before.ExpiresAt), timeOrZero(after.ExpiresAt)
	switch {
	case was.Equal(is):
		if e == (keys.Edit{}) {
			return errOver("the expiry of the old key did not change")
		}
	case !is.IsZero() && is.Add(unrevokeTime).Before(s.instant):
		return errOver("the key expired at %s, and can be brought back for 15 minutes only", is.Format(time.RFC3339))
	case !was.IsZero() && !was.After(s.instant):
		return &UndoError{
			Why:  fmt.Sprintf("the key was to expire at %s, and would end at once", was.Format(time.RFC3339)),
			Hint: "to end it: petstorectl key revoke " + s.entry.Subject,
		}
	default:
		e.ExpiresAt = &was
	}
	_, _, err = s.db.Keys.edit(ctx, s.by, s.entry.Subject, e, s.now, restoreExpiry)
	return err
}

// unrevokeTime is for how long a key that is refused since a change can be brought back. A trigger has the same of revoked keys.
const unrevokeTime = 15 * time.Minute

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// restoreExpiry is checkExpiry for an undo, which may bring a key back that has expired. The tenant is locked. It returns keys.ErrTooManyKeys.
func restoreExpiry(ctx context.Context, tx pgconn.Tx, before, after keys.Key, now time.Time) error {
	if before.Status(now) == keys.Expired && after.Status(now) != keys.Expired {
		return checkRoom(ctx, tx, after, now)
	}
	return nil
}

// undoBan lifts a ban, or places the one again that was lifted, or whose place it took: with its end, its source and its reason, which only
// its row has.
func undoBan(ctx context.Context, s undoStep) error {
	former, after, err := records[banRecord](s.entry)
	switch {
	case err != nil:
		return err
	case !after.EndsAt.After(s.now):
		return errOver("the ban ended at %s, or would have", after.EndsAt.Format(time.RFC3339))
	case !former.EndsAt.After(s.now):
		_, err = s.db.Bans.Lift(ctx, s.by, s.entry.Subject, s.now)
		return err
	}
	bans, err := selectBans(ctx, s.db.pg, ` where b.key_id = $1 and b.source = $2 and b.starts_at = $3 and b.ends_at = $4 order by b.id desc limit 1`,
		former.Key, string(former.Source), former.StartsAt, former.EndsAt)
	if err == nil && len(bans) == 0 {
		err = keys.ErrBanNotFound
	}
	if err != nil {
		return err
	}
	ban := bans[0]
	ban.StartsAt, _ = keys.BanTimes(s.now, 0)
	_, err = s.db.Bans.place(ctx, s.by, ban, s.now)
	return err
}

// nameOfSubject is the name of a plan or of a login.
func nameOfSubject(e audit.Entry) string {
	_, name, _ := strings.Cut(e.Subject, ":")
	return name
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
	name, e := nameOfSubject(s.entry), PlanEdit{}
	if before.Title != after.Title {
		e.Title = &before.Title
	}
	if before.Price != after.Price {
		e.Price = &before.Price
	}
	switch {
	case before.Version == after.Version:
	case after.From.After(s.instant.Add(plans.WithdrawMargin)):
		if _, err := s.db.Plans.Withdraw(ctx, s.by, name, after.Version); err != nil || e == (PlanEdit{}) {
			return err
		}
	default:
		e.Numbers = &plans.VersionEdit{PerMinute: before.PerMinute, PerDay: before.PerDay}
	}
	_, err = s.db.Plans.Edit(ctx, s.by, name, e)
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
	_, err = s.db.Plans.Edit(ctx, s.by, nameOfSubject(s.entry), PlanEdit{Numbers: &plans.VersionEdit{
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
	action, at := "plan.resell", time.Time{}
	if before.RetiresAt != nil {
		action, at = "plan.retire", *before.RetiresAt
		if at.Before(s.instant) {
			at = s.instant
		}
	}
	name := nameOfSubject(s.entry)
	_, err = s.db.Plans.changePlan(ctx, s.by, action, name, func(ctx context.Context, tx pgconn.Tx, _ plans.Plan, _ plans.Version, done *EditedPlan) error {
		return s.db.Plans.setRetired(ctx, tx, name, at, done)
	})
	return err
}

func undoVoid(ctx context.Context, s undoStep) error {
	before, after, err := records[assignmentRecord](s.entry)
	if err != nil {
		return err
	}
	if after.Assignment == 0 {
		return errBySQL
	}
	_, err = s.db.Timelines.setVoid(ctx, s.by, after.Assignment, before.VoidReason)
	return err
}
