package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
)

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

func undoKeyEdit(ctx context.Context, s undoStep) error {
	before, after, err := records[keyRecord](s.entry)
	if err != nil {
		return err
	}
	var e keys.Edit
	if before.PerMinute != after.PerMinute {
		e.PerMinute = &before.PerMinute
	}
	if e.Name, err = s.former("name"); err != nil {
		return err
	}
	if !sameInstant(before.ExpiresAt, after.ExpiresAt) {
		if e.ExpiresAt, err = formerExpiry(ctx, s, before, after); err != nil {
			return err
		}
	}
	return s.db.Keys.restore(ctx, s.by, s.entry.Subject, e, s.now)
}

// undoRotation gives the old key its expiry back. The new key is another entry: that of its issue.
func undoRotation(ctx context.Context, s undoStep) error {
	before, after, err := records[keyRecord](s.entry)
	if err != nil {
		return err
	}
	if sameInstant(before.ExpiresAt, after.ExpiresAt) {
		return errOver("the expiry of the old key did not change")
	}
	expiry, err := formerExpiry(ctx, s, before, after)
	if err != nil {
		return err
	}
	return s.db.Keys.restore(ctx, s.by, s.entry.Subject, keys.Edit{ExpiresAt: expiry}, s.now)
}

// formerExpiry returns the expiry to restore, the zero time for none. The clock of the database decides whether it is too late.
func formerExpiry(ctx context.Context, s undoStep, before, after keyRecord) (*time.Time, error) {
	now, err := s.db.Timelines.now(ctx)
	if err != nil {
		return nil, err
	}
	if after.ExpiresAt != nil && after.ExpiresAt.Add(unrevokeTime).Before(now) {
		return nil, errOver("the key expired at %s, and can be brought back for 15 minutes only", after.ExpiresAt.Format(time.RFC3339))
	}
	if before.ExpiresAt == nil {
		return &time.Time{}, nil
	}
	if !before.ExpiresAt.After(now) {
		return nil, &UndoError{
			Why:  fmt.Sprintf("the key was to expire at %s, and would end at once", before.ExpiresAt.Format(time.RFC3339)),
			Hint: fmt.Sprintf("to end it: petstorectl key revoke %s", s.entry.Subject),
		}
	}
	return before.ExpiresAt, nil
}

// unrevokeTime is for how long a key that is refused since a change can be brought back. A trigger has the same of revoked keys.
const unrevokeTime = 15 * time.Minute

func sameInstant(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// restore is Edit for an undo, which may give a key that has expired another expiry. It returns keys.ErrKeyNotFound, ErrKeyRevoked or
// ErrTooManyKeys.
func (d Keys) restore(ctx context.Context, by audit.By, id string, e keys.Edit, now time.Time) error {
	return change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := lockKeyOfTenant(ctx, tx, id)
		if err != nil {
			return err
		}
		after := edited(before, e)
		switch {
		case before.Status(now) == keys.Revoked:
			return keys.ErrKeyRevoked
		case before.Status(now) == keys.Expired && after.Status(now) != keys.Expired:
			if err := checkRoom(ctx, tx, after, now); err != nil {
				return err
			}
		}
		return updateKey(ctx, tx, by, before, after)
	})
}

// undoBan lifts a ban, and places the one again whose place it took.
func undoBan(ctx context.Context, s undoStep) error {
	former, placed, err := records[banRecord](s.entry)
	if err != nil {
		return err
	}
	if !placed.EndsAt.After(s.now) {
		return errOver("the ban ended at %s", placed.EndsAt.Format(time.RFC3339))
	}
	if former.EndsAt.After(s.now) {
		return s.db.Bans.placeAgain(ctx, s.by, former, s.now)
	}
	_, err = s.db.Bans.Lift(ctx, s.by, s.entry.Subject, s.now)
	return err
}

// undoLift places the ban again, until the end that it had.
func undoLift(ctx context.Context, s undoStep) error {
	former, _, err := records[banRecord](s.entry)
	if err != nil {
		return err
	}
	if !former.EndsAt.After(s.now) {
		return errOver("the ban would have ended at %s", former.EndsAt.Format(time.RFC3339))
	}
	return s.db.Bans.placeAgain(ctx, s.by, former, s.now)
}

// placeAgain places a ban that was lifted again, in place of those in force: with its end, its source and its reason, which only its row
// has. It returns keys.ErrKeyNotFound or ErrBanNotFound.
func (d Bans) placeAgain(ctx context.Context, by audit.By, former banRecord, now time.Time) error {
	return change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		key, err := lockKey(ctx, tx, former.Key)
		if err != nil {
			return err
		}
		rows, err := selectBans(ctx, tx, ` where b.key_id = $1 and b.source = $2 and b.starts_at = $3 and b.ends_at = $4 order by b.id desc limit 1`,
			former.Key, string(former.Source), former.StartsAt, former.EndsAt)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return keys.ErrBanNotFound
		}
		lifted, err := liftBans(ctx, tx, key.ID, now)
		if err != nil {
			return err
		}
		ban := rows[0]
		ban.StartsAt, _ = keys.BanTimes(now, 0)
		placed, err := insertBan(ctx, tx, ban)
		if err != nil {
			return err
		}
		return writeAudit(tx, by, placedEntry(key, lifted, placed))
	})
}

// placedEntry is the entry of a ban that was placed, in place of those that were lifted.
func placedEntry(key keys.Key, lifted []keys.Ban, placed keys.Ban) auditEntry {
	entry := auditEntry{action: "ban.place", tenantID: key.TenantID, subject: key.ID, after: recordBan(keys.Ban{}, placed)}
	if len(lifted) > 0 {
		entry.before, entry.after = recordBan(lifted[0], lifted[0]), recordBan(lifted[0], placed)
	}
	return entry
}
