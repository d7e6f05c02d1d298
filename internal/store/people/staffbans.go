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
	ban := keys.Ban{KeyID: n.KeyID, Source: keys.ByStaff, Reason: n.Reason}
	ban.StartsAt, ban.EndsAt = keys.BanTimes(now, n.Length)
	return d.place(ctx, by, ban, now)
}

func (d Bans) place(ctx context.Context, by audit.By, ban keys.Ban, now time.Time) (placed keys.Ban, err error) {
	defer pgconn.Wrap(&err, "place ban")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		key, err := lockKey(ctx, tx, ban.KeyID)
		if err != nil {
			return err
		}
		if !key.RevokedAt.IsZero() {
			return keys.ErrKeyRevoked
		}
		lifted, err := liftBans(ctx, tx, ban.KeyID, now)
		if err != nil {
			return err
		}
		ban.TenantID = key.TenantID
		if placed, err = insertBan(ctx, tx, ban); err != nil {
			return err
		}
		return trail.Write(tx, by, placedEntry(key, lifted, placed))
	})
	return placed, err
}

// placedEntry is the entry of a ban that was placed, in place of those that were lifted.
func placedEntry(key keys.Key, lifted []keys.Ban, placed keys.Ban) trail.Entry {
	entry := trail.Entry{Action: "ban.place", TenantID: key.TenantID, Subject: key.ID, After: recordBan(keys.Ban{}, placed)}
	if len(lifted) > 0 {
		entry.Before, entry.After = recordBan(lifted[0], lifted[0]), recordBan(lifted[0], placed)
	}
	return entry
}

// insertBan adds a ban of a key, which must be locked.
func insertBan(ctx context.Context, tx pgconn.Tx, b keys.Ban) (keys.Ban, error) {
	var id int64
	err := tx.Get(ctx, &id, `
		insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at) values ($1, $2, $3, $4, $5, $6)
		returning id`, b.TenantID, b.KeyID, string(b.Source), b.Reason, b.StartsAt, b.EndsAt)
	if err != nil {
		return keys.Ban{}, err
	}
	bans, err := selectBans(ctx, tx, ` where b.tenant_id = $1 and b.id = $2`, b.TenantID, id)
	if err != nil {
		return keys.Ban{}, err
	}
	return bans[0], nil
}

// Lift ends the bans in force on a key at once and returns, as it is after, the one that would have ended last. It
// returns keys.ErrKeyNotFound or ErrBanNotFound.
func (d Bans) Lift(ctx context.Context, by audit.By, keyID string, now time.Time) (lifted keys.Ban, err error) {
	defer pgconn.Wrap(&err, "lift ban")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
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
		return trail.Write(tx, by, trail.Entry{
			Action: "ban.lift", TenantID: key.TenantID, Subject: keyID,
			Before: recordBan(before[0], before[0]), After: recordBan(before[0], lifted),
		})
	})
	return lifted, err
}

// liftBans lifts the bans in force on a locked key, and returns them as they were, the one with the latest end first.
func liftBans(ctx context.Context, tx pgconn.Tx, keyID string, now time.Time) ([]keys.Ban, error) {
	bans, err := bansInForce(ctx, tx, keyID, now)
	if err != nil || len(bans) == 0 {
		return nil, err
	}
	_, err = tx.Exec(ctx, `update bans b set lifted_at = $1 where b.key_id = $2 and `+banInForce, now, keyID)
	return bans, err
}

// bansInForce returns the bans in force on a key, the one with the latest end first.
func bansInForce(ctx context.Context, q pgconn.Queryer, keyID string, now time.Time) ([]keys.Ban, error) {
	return selectBans(ctx, q, ` where `+banInForce+` and b.key_id = $2 order by b.ends_at desc, b.id desc`, now, keyID)
}
