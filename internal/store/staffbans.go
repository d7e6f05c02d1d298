package store

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
)

// BanFilter restricts a list of bans.
type BanFilter struct {
	// Tenant is a tenant's name and KeyID a key's id; empty for all.
	Tenant, KeyID string
	// Past adds bans that ended or were lifted to those in force.
	Past  bool
	Limit int
}

// List returns bans in force at the instant, or all, the newest first; or plans.ErrTenantNotFound.
func (d Bans) List(ctx context.Context, f BanFilter, now time.Time) ([]keys.Ban, error) {
	if err := checkTenant(ctx, d.db, f.Tenant); err != nil {
		return nil, fmt.Errorf("list bans: %w", err)
	}
	bans, err := selectBans(ctx, d.db, `
		where ($2 or (`+banInForce+`)) and ($3 = '' or t.name = $3) and ($4 = '' or b.key_id = $4)
		order by b.starts_at desc, b.id desc limit $5`, now, f.Past, f.Tenant, f.KeyID, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("list bans: %w", err)
	}
	return bans, nil
}

// NewBan is a ban that staff want to place.
type NewBan struct {
	KeyID string
	// Length is how long the ban lasts.
	Length time.Duration
	// Reason is shown to the customer.
	Reason string
}

// Place bans a key from now on. It takes the place of bans in force, which are lifted, so that staff can shorten a
// ban as well as lengthen it. It returns keys.ErrKeyNotFound, ErrKeyRevoked for a key that is refused for ever, or
// ErrTextContainsKey.
func (d Bans) Place(ctx context.Context, by audit.By, n NewBan, now time.Time) (placed keys.Ban, err error) {
	if err := keys.CheckText(n.Reason); err != nil {
		return keys.Ban{}, fmt.Errorf("place ban: reason: %w", err)
	}
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		key, err := lockKey(ctx, tx, n.KeyID)
		if err != nil {
			return err
		}
		if !key.RevokedAt.IsZero() {
			return keys.ErrKeyRevoked
		}
		lifted, err := liftBans(ctx, tx, n.KeyID, now)
		if err != nil {
			return err
		}
		if placed, err = insertStaffBan(ctx, tx, key, n, now); err != nil {
			return err
		}
		entry := auditEntry{
			action: "ban.place", tenantID: key.TenantID, subject: key.ID, after: recordBan(keys.Ban{}, placed),
		}
		if len(lifted) > 0 {
			entry.before, entry.after = recordBan(lifted[0], lifted[0]), recordBan(lifted[0], placed)
		}
		return writeAudit(ctx, tx, by, entry)
	})
	if err != nil {
		return keys.Ban{}, fmt.Errorf("place ban: %w", err)
	}
	return placed, nil
}

func insertStaffBan(ctx context.Context, tx pgconn.Tx, k keys.Key, n NewBan, now time.Time) (keys.Ban, error) {
	var id int64
	startsAt, endsAt := keys.BanTimes(now, n.Length)
	err := tx.Get(ctx, &id, `
		insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at) values ($1, $2, $3, $4, $5, $6)
		returning id`, k.TenantID, k.ID, string(keys.ByStaff), n.Reason, startsAt, endsAt)
	if err != nil {
		return keys.Ban{}, err
	}
	bans, err := selectBans(ctx, tx, ` where b.tenant_id = $1 and b.id = $2`, k.TenantID, id)
	if err != nil {
		return keys.Ban{}, err
	}
	return bans[0], nil
}

// Lift ends the bans in force on a key at once and returns, as it is after, the one that would have ended last. It
// returns keys.ErrKeyNotFound or ErrBanNotFound.
func (d Bans) Lift(ctx context.Context, by audit.By, keyID string, now time.Time) (lifted keys.Ban, err error) {
	err = change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		key, err := lockKey(ctx, tx, keyID)
		if err != nil {
			return err
		}
		before, err := liftBans(ctx, tx, keyID, now)
		if err != nil {
			return err
		}
		if len(before) == 0 {
			return keys.ErrBanNotFound
		}
		lifted = before[0]
		lifted.LiftedAt = now.UTC()
		return writeAudit(ctx, tx, by, auditEntry{
			action: "ban.lift", tenantID: key.TenantID, subject: keyID,
			before: recordBan(before[0], before[0]), after: recordBan(before[0], lifted),
		})
	})
	if err != nil {
		return keys.Ban{}, fmt.Errorf("lift ban: %w", err)
	}
	return lifted, nil
}

// liftBans lifts the bans in force on a locked key, and returns them as they were, the one with the latest end first.
func liftBans(ctx context.Context, tx pgconn.Tx, keyID string, now time.Time) ([]keys.Ban, error) {
	bans, err := selectBans(ctx, tx, ` where `+banInForce+` and b.key_id = $2 order by b.ends_at desc, b.id desc`,
		now, keyID)
	if err != nil || len(bans) == 0 {
		return nil, err
	}
	_, err = tx.Exec(ctx, `update bans b set lifted_at = $1 where b.key_id = $2 and `+banInForce, now, keyID)
	return bans, err
}
