package people

import (
	"context"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
)

// Rotate implements keys.ServiceStore.
func (d Keys) Rotate(
	ctx context.Context, by audit.By, id string, now, until time.Time, next keys.Replacement,
) (old, issued keys.Key, err error) {
	defer pgconn.Wrap(&err, "rotate key")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := lockForRotation(ctx, tx, id, now)
		if err != nil {
			return err
		}
		if old, err = expireKey(ctx, tx, before, until); err != nil {
			return err
		}
		replacement, digest, err := next(before)
		if err != nil {
			return err
		}
		if issued, err = insertKey(ctx, tx, replacement, digest); err != nil {
			return err
		}
		carried, err := carryBan(ctx, tx, old, issued, now)
		if err != nil {
			return err
		}
		old.ReplacedBy = issued.ID
		return auditRotation(tx, by, before, old, issued, carried)
	})
	return old, issued, err
}

// lockForRotation locks the key, which must be active, and its tenant.
func lockForRotation(ctx context.Context, tx pgconn.Tx, id string, now time.Time) (keys.Key, error) {
	k, err := lockKeyOfTenant(ctx, tx, id)
	if err != nil {
		return keys.Key{}, err
	}
	switch k.Status(now) {
	case keys.Revoked:
		return keys.Key{}, keys.ErrKeyRevoked
	case keys.Expired:
		return keys.Key{}, keys.ErrKeyExpired
	}
	return k, nil
}

// expireKey makes the key expire at the instant, unless it expires before.
func expireKey(ctx context.Context, tx pgconn.Tx, k keys.Key, at time.Time) (keys.Key, error) {
	_, err := tx.Exec(ctx, `update api_keys set expires_at = least(expires_at, $2) where id = $1`, k.ID, at)
	if err != nil {
		return keys.Key{}, err
	}
	return getKey(ctx, tx, `k.id = $1`, k.ID)
}

// carryBan bans the new key as long as the old one is, and for the same reason: a rotation lifts no ban. It returns nil if the old key
// is not banned.
func carryBan(ctx context.Context, tx pgconn.Tx, old, issued keys.Key, now time.Time) (*keys.Ban, error) {
	bans, err := bansInForce(ctx, tx, old.ID, now)
	if err != nil || len(bans) == 0 {
		return nil, err
	}
	ban := bans[0]
	ban.KeyID = issued.ID
	ban, err = insertBan(ctx, tx, ban)
	return &ban, err
}

// auditRotation writes an entry about the old key, which names the new one, one about the new key, and one about its ban, if it has one.
func auditRotation(tx pgconn.Tx, by audit.By, before, old, issued keys.Key, carried *keys.Ban) error {
	err := trail.Write(tx, by, trail.Entry{
		Action: "key.rotate", TenantID: old.TenantID, Subject: old.ID, Before: recordKey(before, before),
		After: struct {
			keyRecord
			ReplacedBy string `json:"replaced_by"`
		}{recordKey(before, old), issued.ID},
	})
	if err != nil {
		return err
	}
	err = trail.Write(tx, by, trail.Entry{
		Action: "key.issue", TenantID: issued.TenantID, Subject: issued.ID, After: recordKey(keys.Key{}, issued),
	})
	if err != nil || carried == nil {
		return err
	}
	return trail.Write(tx, by, trail.Entry{
		Action: "ban.place", TenantID: issued.TenantID, Subject: issued.ID, After: recordBan(keys.Ban{}, *carried),
	})
}
