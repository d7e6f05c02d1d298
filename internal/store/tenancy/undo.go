package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
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

// undoIssue revokes the key: of key.issue and of key.unrevoke.
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

// undoKeyEdit restores the name, the limit, the scope, the addresses and the expiry: of key.edit,
// and of key.rotate, which set the expiry of the old key. The new key of a rotation is another
// entry, that of its issue.
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
	_, _, err = Keys{s.DB}.edit(ctx, s.By, s.Entry.Subject, e, s.Now, restoreExpiry(s.Entry.Action))
	return err
}

// unrevokeTime is for how long a key that is refused since a change can be brought back. A trigger
// has the same of revoked keys.
const unrevokeTime = 15 * time.Minute

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// restoreExpiry is checkExpiry for the undo of an action, which may bring a key back that has
// expired, or end its grace period. The tenant is locked. It returns keys.ErrTooManyKeys.
func restoreExpiry(action string) func(context.Context, pgconn.Tx, keys.Key, keys.Key, time.Time) error {
	return func(ctx context.Context, tx pgconn.Tx, before, after keys.Key, now time.Time) error {
		if action == "key.rotate" || before.Status(now) == keys.Expired && before.ReplacedBy == "" {
			return checkRoom(ctx, tx, after, after.ID, now)
		}
		return nil
	}
}

// undoBan lifts a ban, or places the one again that was lifted, or whose place it took: with its
// end, its source and its reason, which only its row has.
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
