package tenancy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/store/undo"
)

// Undoers take back changes of tenants, keys and bans.
var Undoers = undo.Undoers{
	"tenant.edit":    undoTenantEdit,
	"tenant.suspend": undoSuspension,
	"tenant.resume":  undoSuspension,
	"key.issue":      undoIssue,
	"key.unrevoke":   undoIssue,
	"key.edit":       undoKeyEdit,
	"key.rotate":     undoKeyEdit,
	"key.revoke":     undoRevocation,
	"ban.place":      undoBan,
	"ban.lift":       undoBan,
}

func undoTenantEdit(ctx context.Context, s undo.Step) error {
	before, after, err := undo.Records[tenantRecord](s.Entry)
	var e TenantEdit
	if before.BillingRef != after.BillingRef {
		e.BillingRef = &before.BillingRef
	}
	err = errors.Join(
		err,
		s.Former(
			ctx,
			map[string]**string{"name": &e.Name, "email": &e.Email, "contact": &e.Contact, "notes": &e.Notes},
		),
	)
	if err == nil {
		_, _, err = Tenants{s.DB}.Edit(ctx, s.By, s.Tenant(), e)
	}
	return err
}

func undoSuspension(ctx context.Context, s undo.Step) (err error) {
	if s.Entry.Action == "tenant.suspend" {
		_, err = Tenants{s.DB}.Resume(ctx, s.By, s.Tenant())
		return err
	}
	_, err = Tenants{s.DB}.Suspend(ctx, s.By, s.Tenant(), time.Time{})
	return err
}

// undoIssue revokes the key. It undoes key.issue and key.unrevoke.
func undoIssue(ctx context.Context, s undo.Step) error {
	_, err := Keys{s.DB}.Revoke(ctx, s.By, s.Entry.Subject, s.Now)
	return err
}

func undoRevocation(ctx context.Context, s undo.Step) error {
	_, err := Keys{s.DB}.Unrevoke(ctx, s.By, s.Entry.Subject, s.Now)
	for _, refusal := range []error{keys.ErrRevocationFinal, keys.ErrRevokedByOther} {
		if errors.Is(err, refusal) {
			return &undo.Error{
				Why:  refusal.Error(),
				Hint: "issue another key: petstorectl key issue " + s.Entry.TenantName,
			}
		}
	}
	return err
}

// undoKeyEdit restores the name, the limit, the scope, the addresses and the expiry. It undoes
// key.edit, and the new expiry of the old key in key.rotate. The new key of a rotation has an entry
// of its own, for its issue.
func undoKeyEdit(ctx context.Context, s undo.Step) error {
	before, after, err := undo.Records[keyRecord](s.Entry)
	if err != nil {
		return err
	}
	var e keys.Edit
	if before.PerMinute != after.PerMinute {
		e.PerMinute = &before.PerMinute
	}
	if before.Scope != after.Scope {
		e.Scope = new(cmp.Or(before.Scope, keys.ScopeWrite))
	}
	if before.Allowed != after.Allowed {
		e.Allowed = &before.Allowed
	}
	if err := s.Former(ctx, map[string]**string{"name": &e.Name}); err != nil {
		return err
	}
	was, is := timeOrZero(before.ExpiresAt), timeOrZero(after.ExpiresAt)
	switch {
	case was.Equal(is):
		if e == (keys.Edit{}) {
			return undo.Over("the expiry of the old key did not change")
		}
	case !is.IsZero() && is.Add(unrevokeTime).Before(s.Instant):
		return undo.Over("the key expired at %s, and can be brought back for 15 minutes only", is.Format(time.RFC3339))
	case !was.IsZero() && !was.After(s.Instant):
		return &undo.Error{
			Why:  fmt.Sprintf("the key was to expire at %s, and would end at once", was.Format(time.RFC3339)),
			Hint: "to end it: petstorectl key revoke " + s.Entry.Subject,
		}
	default:
		e.ExpiresAt = &was
	}
	// The undo may bring an expired key back, or end its grace period.
	m := membersOf(e)
	m["restores"] = s.Entry.Action
	_, _, err = Keys{s.DB}.edit(ctx, s.By, s.Entry.Subject, m, nil, s.Now)
	return err
}

// unrevokeTime is how long after a change that makes the API refuse a key it can be undone. A
// trigger has the same time for revoked keys.
const unrevokeTime = 15 * time.Minute

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// undoBan lifts a ban, or places a lifted or replaced ban again, with its end, its source and its
// reason, which only its row has.
func undoBan(ctx context.Context, s undo.Step) error {
	former, after, err := undo.Records[banRecord](s.Entry)
	switch {
	case err != nil:
		return err
	case !after.EndsAt.After(s.Now):
		return undo.Over("the ban ended at %s, or would have", after.EndsAt.Format(time.RFC3339))
	case !former.EndsAt.After(s.Now):
		_, err = Bans{s.DB}.Lift(ctx, s.By, s.Entry.Subject, s.Now)
		return err
	}
	bans, err := selectBans(
		ctx,
		s.DB,
		` where b.key_id = $1 and b.source = $2 and b.starts_at = $3 and b.ends_at = $4 order by b.id desc limit 1`,
		former.Key,
		string(former.Source),
		former.StartsAt,
		former.EndsAt,
	)
	if err == nil && len(bans) == 0 {
		err = keys.ErrBanNotFound
	}
	if err != nil {
		return err
	}
	ban := bans[0]
	ban.StartsAt, _ = keys.BanTimes(s.Now, 0)
	_, err = Bans{s.DB}.place(ctx, s.By, ban, s.Now)
	return err
}
