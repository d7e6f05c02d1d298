package store

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
)

// Edit implements keys.ServiceStore.
func (d Keys) Edit(
	ctx context.Context, by audit.By, id string, e keys.Edit, now time.Time,
) (before, after keys.Key, err error) {
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
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
		_, err = tx.Exec(ctx, `update api_keys set name = $2, per_minute = nullif($3, 0) where id = $1`,
			id, after.Name, after.PerMinute)
		if err != nil {
			return err
		}
		return writeAudit(ctx, tx, by, auditEntry{
			action: "key.edit", tenantID: before.TenantID, subject: id,
			before: recordKey(before, before), after: recordKey(before, after),
		})
	})
	if err != nil {
		return keys.Key{}, keys.Key{}, fmt.Errorf("edit key: %w", err)
	}
	return before, after, nil
}

// edited returns the key with the change applied.
func edited(k keys.Key, e keys.Edit) keys.Key {
	if e.Name != nil {
		k.Name = *e.Name
	}
	if e.PerMinute != nil {
		k.PerMinute = *e.PerMinute
	}
	return k
}
