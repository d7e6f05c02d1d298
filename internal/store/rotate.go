package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
)

// Rotate implements keys.ServiceStore.
func (d Keys) Rotate(
	ctx context.Context, by audit.By, id string, now, until time.Time, next keys.Replacement,
) (old, issued keys.Key, err error) {
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
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
		return auditRotation(ctx, tx, by, before, old, issued)
	})
	if err != nil {
		return keys.Key{}, keys.Key{}, fmt.Errorf("rotate key: %w", err)
	}
	return old, issued, nil
}

// lockForRotation locks the key's tenant and then the key, the order of all that locks both.
func lockForRotation(ctx context.Context, tx pgconn.Tx, id string, now time.Time) (keys.Key, error) {
	k, err := getKey(ctx, tx, `k.id = $1`, id)
	if err != nil {
		return keys.Key{}, err
	}
	if _, err := lockTenant(ctx, tx, k.TenantName, sql.NullTime{}); err != nil {
		return keys.Key{}, err
	}
	if k, err = lockKey(ctx, tx, id); err != nil {
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

// auditRotation writes an entry about the old key, which names the new one, and one about the new key.
func auditRotation(ctx context.Context, tx pgconn.Tx, by audit.By, before, old, issued keys.Key) error {
	err := writeAudit(ctx, tx, by, auditEntry{
		action: "key.rotate", tenantID: old.TenantID, subject: old.ID, before: recordKey(before, before),
		after: struct {
			keyRecord
			ReplacedBy string `json:"replaced_by"`
		}{recordKey(before, old), issued.ID},
	})
	if err != nil {
		return err
	}
	return writeAudit(ctx, tx, by, auditEntry{
		action: "key.issue", tenantID: issued.TenantID, subject: issued.ID, after: recordKey(keys.Key{}, issued),
	})
}
