package people

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Edit implements keys.ServiceStore.
func (d Keys) Edit(
	ctx context.Context,
	by audit.By,
	id string,
	e keys.Edit,
	now time.Time,
) (before, after keys.Key, err error) {
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

// updateKey stores what an edit may change, and writes the entry of the change.
func updateKey(ctx context.Context, tx pgconn.Tx, by audit.By, before, after keys.Key) error {
	_, err := tx.Exec(
		ctx,
		`
		update api_keys set name = $2, per_minute = nullif($3, 0), expires_at = $4, scope = $5, allowed =
			string_to_array($6, ',')::cidr[]
		where id = $1`,
		after.ID,
		after.Name,
		after.PerMinute,
		pgconn.NullTime(after.ExpiresAt),
		string(after.Scope),
		string(after.Allowed),
	)
	if err != nil {
		return err
	}
	return auditEdit(tx, by, before, after)
}

func auditEdit(tx pgconn.Tx, by audit.By, before, after keys.Key) error {
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
	if e.Scope != nil {
		k.Scope = *e.Scope
	}
	if e.Allowed != nil {
		k.Allowed = *e.Allowed
	}
	if e.ExpiresAt != nil {
		k.ExpiresAt = e.ExpiresAt.UTC().Truncate(time.Microsecond)
	}
	return k
}

// checkExpiry refuses an expiry in the past, and a new one for a key that has expired: a rotation
// may have ended it.
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

// Rotate implements keys.ServiceStore.
func (d Keys) Rotate(
	ctx context.Context, by audit.By, id string, now, until time.Time, next keys.Replacement,
) (r keys.Rotated, err error) {
	defer pgconn.Wrap(&err, "rotate key")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := lockForRotation(ctx, tx, id, now)
		if err != nil {
			return err
		}
		if r.Old, err = expireKey(ctx, tx, before, until); err != nil {
			return err
		}
		replacement, digest, err := next(before)
		if err != nil {
			return err
		}
		if r.New, err = insertKey(ctx, tx, replacement, digest, id); err != nil {
			return err
		}
		carried, err := carryBan(ctx, tx, r.Old, r.New, now)
		if err != nil {
			return err
		}
		r.Old.ReplacedBy = r.New.ID
		if err := auditRotation(tx, by, before, r.Old, r.New, carried); err != nil {
			return err
		}
		r.Ended, err = endGraces(ctx, tx, by, r.Old, now)
		return err
	})
	return r, err
}

// endGraces ends the grace periods of the tenant's keys beyond MaxInGrace, old among them: of those
// that were rotated first. It returns their IDs.
func endGraces(
	ctx context.Context,
	tx pgconn.Tx,
	by audit.By,
	old keys.Key,
	now time.Time,
) (ended []string, err error) {
	most := keys.MaxInGrace
	if old.Valid(now) { // Its entry is not yet written.
		most--
	}
	err = tx.Select(ctx, &ended, `
		select id from valid_keys($1, $2) where replacement is not null and id <> $3
		order by rotation desc offset $4`, old.TenantID, now, old.ID, most)
	for _, id := range ended {
		var before, after keys.Key
		if before, err = lockKey(ctx, tx, id); err == nil {
			after, err = expireKey(ctx, tx, before, now)
		}
		if err != nil {
			return nil, err
		}
		if err := auditEdit(tx, by, before, after); err != nil {
			return nil, err
		}
	}
	return ended, err
}

// lockForRotation locks the key, which must be active and have no replacement, and its tenant.
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
	var replacement sql.NullString
	err = tx.Get(ctx, &replacement, `select replacement from valid_keys($1, $2) where id = $3`, k.TenantID, now, id)
	if replacement.Valid {
		err = &keys.AlreadyRotatedError{ID: replacement.String}
	}
	return k, err
}

// expireKey makes the key expire at the instant, unless it expires before.
func expireKey(ctx context.Context, tx pgconn.Tx, k keys.Key, at time.Time) (keys.Key, error) {
	_, err := tx.Exec(ctx, `update api_keys set expires_at = least(expires_at, $2) where id = $1`, k.ID, at)
	if err != nil {
		return keys.Key{}, err
	}
	return getKey(ctx, tx, `k.id = $1`, k.ID)
}

// carryBan bans the new key as long as the old one is, and for the same reason: a rotation lifts no
// ban. It returns nil if the old key is not banned.
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

// auditRotation writes an entry about the old key, which names the new one, one about the new key,
// and one about its ban, if it has one.
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

// Unrevoke brings a revoked key back. It returns keys.ErrKeyNotFound, ErrKeyNotRevoked,
// ErrTooManyKeys, or what a trigger decides by the clock of Postgres and the login:
// ErrRevocationFinal or ErrRevokedByOther.
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
		if _, err := tx.Exec(ctx, `update api_keys set revoked_at = null where id = $1`, id); err != nil {
			return pgconn.Meaning(err, revocationRules)
		}
		if err := checkRoom(ctx, tx, before, id, now); err != nil {
			return err
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

// checkRoom returns keys.ErrTooManyKeys if the tenant, which must be locked, has the maximum of
// active keys that have no replacement, besides except. A key that has expired is not active.
func checkRoom(ctx context.Context, tx pgconn.Tx, k keys.Key, except string, now time.Time) error {
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		return nil
	}
	var active int
	err := tx.Get(ctx, &active, `
		select count(*) from valid_keys($1, $2) where replacement is null and id <> $3`, k.TenantID, now, except)
	if err == nil && active >= keys.MaxActive {
		err = keys.ErrTooManyKeys
	}
	return err
}

// revocationRules are those of the trigger api_keys_revocation.
var revocationRules = map[string]error{
	"api_keys_revocation_final": keys.ErrRevocationFinal,
	"api_keys_revoked_by":       keys.ErrRevokedByOther,
}
