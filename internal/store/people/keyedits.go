package people

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
)

// Edit implements keys.ServiceStore.
func (d Keys) Edit(ctx context.Context, by audit.By, id string, e keys.Edit, now time.Time) (before, after keys.Key, err error) {
	return d.edit(ctx, by, id, e, now, checkExpiry)
}

func (d Keys) edit(
	ctx context.Context, by audit.By, id string, e keys.Edit, now time.Time,
	checkExpiry func(ctx context.Context, tx pgconn.Tx, before, after keys.Key, now time.Time) error,
) (before, after keys.Key, err error) {
	defer pgconn.Wrap(&err, "edit key")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		if before, err = lockKey(ctx, tx, id); err != nil {
			return err
		}
		if !before.RevokedAt.IsZero() {
			return keys.ErrKeyRevoked
		}
		if after = edited(before, e); after == before {
			return nil
		}
		if err := keys.CheckText(after.Name); err != nil {
			return fmt.Errorf("name: %w", err)
		}
		if err := checkExpiry(ctx, tx, before, after, now); err != nil {
			return err
		}
		return updateKey(ctx, tx, by, before, after)
	})
	return before, after, err
}

// updateKey stores the key's name, limit and expiry, and writes the entry of the change.
func updateKey(ctx context.Context, tx pgconn.Tx, by audit.By, before, after keys.Key) error {
	_, err := tx.Exec(ctx, `update api_keys set name = $2, per_minute = nullif($3, 0), expires_at = $4 where id = $1`,
		after.ID, after.Name, after.PerMinute, pgconn.NullTime(after.ExpiresAt))
	if err != nil {
		return err
	}
	return trail.Write(tx, by, trail.Entry{
		Action: "key.edit", TenantID: before.TenantID, Subject: after.ID,
		Before: recordKey(before, before), After: recordKey(before, after), Hidden: hiddenOfKey(before, after),
	})
}

// edited returns the key with the change applied.
func edited(k keys.Key, e keys.Edit) keys.Key {
	if e.Name != nil {
		k.Name = *e.Name
	}
	if e.PerMinute != nil {
		k.PerMinute = *e.PerMinute
	}
	if e.ExpiresAt != nil {
		k.ExpiresAt = e.ExpiresAt.UTC().Truncate(time.Microsecond)
	}
	return k
}

// checkExpiry refuses an expiry in the past, and a new one for a key that has expired: a rotation may have ended it.
func checkExpiry(_ context.Context, _ pgconn.Tx, before, after keys.Key, now time.Time) error {
	switch {
	case after.ExpiresAt.Equal(before.ExpiresAt):
		return nil
	case before.Status(now) == keys.Expired:
		return keys.ErrKeyExpired
	case !after.ExpiresAt.IsZero() && !after.ExpiresAt.After(now):
		return keys.ErrExpiryPast
	}
	return nil
}
