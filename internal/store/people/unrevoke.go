package people

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Unrevoke brings a revoked key back. It returns keys.ErrKeyNotFound, ErrKeyNotRevoked, ErrTooManyKeys, or what a trigger decides by the
// clock of Postgres and the login: ErrRevocationFinal or ErrRevokedByOther.
func (d Keys) Unrevoke(ctx context.Context, by audit.By, id string, now time.Time) (after keys.Key, err error) {
	defer pgconn.Wrap(&err, "unrevoke key")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := lockKeyOfTenant(ctx, tx, id)
		if err != nil {
			return err
		}
		if before.RevokedAt.IsZero() {
			return keys.ErrKeyNotRevoked
		}
		if err := checkRoom(ctx, tx, before, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update api_keys set revoked_at = null where id = $1`, id); err != nil {
			return revocationError(err)
		}
		if after, err = getKey(ctx, tx, `k.id = $1`, id); err != nil {
			return err
		}
		return trail.Write(tx, by, trail.Entry{
			Action: "key.unrevoke", TenantID: before.TenantID, Subject: id,
			Before: recordKey(before, before), After: recordKey(before, after),
		})
	})
	return after, err
}

// lockKeyOfTenant locks the key's tenant and then the key, the order of all that locks both.
func lockKeyOfTenant(ctx context.Context, tx pgconn.Tx, id string) (keys.Key, error) {
	k, err := getKey(ctx, tx, `k.id = $1`, id)
	if err != nil {
		return keys.Key{}, err
	}
	if _, err := tenants.Lock(ctx, tx, k.TenantName, sql.NullTime{}); err != nil {
		return keys.Key{}, err
	}
	return lockKey(ctx, tx, id)
}

// checkRoom returns keys.ErrTooManyKeys if the tenant, which must be locked, has the maximum of active keys without this one. A key that
// has expired is not active.
func checkRoom(ctx context.Context, tx pgconn.Tx, k keys.Key, now time.Time) error {
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		return nil
	}
	active, err := countActiveKeys(ctx, tx, k.TenantID, now)
	if err == nil && active >= keys.MaxActive {
		err = keys.ErrTooManyKeys
	}
	return err
}

// revocationError translates the rules of the trigger api_keys_revocation.
func revocationError(err error) error {
	switch {
	case pgconn.IsConstraint(err, "api_keys_revocation_final"):
		return errors.Join(keys.ErrRevocationFinal, err)
	case pgconn.IsConstraint(err, "api_keys_revoked_by"):
		return errors.Join(keys.ErrRevokedByOther, err)
	}
	return err
}
