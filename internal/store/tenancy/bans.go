package tenancy

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Bans stores the bans of keys.
type Bans struct{ db *pgconn.DB }

var _ strikes.BanStore = Bans{}

const (
	selectBan = `
	select b.id, b.tenant_id, t.name as tenant_name, b.key_id, b.source, b.reason, b.starts_at, b.ends_at, b.lifted_at
	from bans b join tenants t on t.id = b.tenant_id`
	// A ban is in force at $1 until its end, unless it was lifted. No ban is placed for the future.
	banInForce = `b.lifted_at is null and b.ends_at > $1`
)

type banRow struct {
	ID         int64        `db:"id"`
	TenantID   int64        `db:"tenant_id"`
	TenantName string       `db:"tenant_name"`
	KeyID      string       `db:"key_id"`
	Source     string       `db:"source"`
	Reason     string       `db:"reason"`
	StartsAt   time.Time    `db:"starts_at"`
	EndsAt     time.Time    `db:"ends_at"`
	LiftedAt   sql.NullTime `db:"lifted_at"`
}

func (r banRow) ban() keys.Ban {
	return keys.Ban{
		ID: r.ID, TenantID: r.TenantID, TenantName: r.TenantName, KeyID: r.KeyID, Source: keys.BanSource(r.Source),
		Reason: r.Reason, StartsAt: r.StartsAt.UTC(), EndsAt: r.EndsAt.UTC(), LiftedAt: pgconn.TimeOf(r.LiftedAt),
	}
}

func selectBans(ctx context.Context, q pgconn.Queryer, rest string, args ...any) ([]keys.Ban, error) {
	return pgconn.Collect(ctx, q, banRow.ban, selectBan+rest, args...)
}

// PlaceAutomaticBan implements strikes.BanStore. The API may place bans only through the function,
// which uses Postgres's clock.
func (d Bans) PlaceAutomaticBan(ctx context.Context, tenantID int64, keyID string) (_ keys.Ban, err error) {
	defer pgconn.Wrap(&err, "place automatic ban")
	placed, err := pgconn.Collect(ctx, d.db, banRow.ban, `
		select id, tenant_id, tenant_name, key_id, source, reason, starts_at, ends_at from place_automatic_ban($1,
		  $2)`, tenantID, keyID)
	if err == nil && len(placed) == 0 {
		err = keys.ErrKeyNotFound
	}
	if err != nil {
		return keys.Ban{}, err
	}
	return placed[0], nil
}

// NextBan implements strikes.BanStore.
func (d Bans) NextBan(ctx context.Context, keyID string, now time.Time) (_ time.Duration, err error) {
	defer pgconn.Wrap(&err, "read the length of bans")
	var seconds int64
	err = d.db.Get(ctx, &seconds, `select extract(epoch from next_ban_length($1, $2))::bigint`, keyID, now)
	return time.Duration(seconds) * time.Second, err
}

// SetLengths changes how long the first, the second and further automatic bans of a key last, in
// whole seconds. Only the owner of the tables may do this.
func (d Bans) SetLengths(ctx context.Context, first, second, further time.Duration) (err error) {
	defer pgconn.Wrap(&err, "set the lengths of bans")
	_, err = d.db.Exec(ctx, `
		update ban_lengths set length = (array[$1, $2, $3]::float8[])[least(earlier + 1, 3)] * interval '1 second'`,
		first.Seconds(), second.Seconds(), further.Seconds())
	return err
}

// NewBan is a ban that staff want to place.
type NewBan struct {
	KeyID string
	// Length is how long the ban lasts.
	Length time.Duration
	// Reason is shown to the customer.
	Reason string
}

// Place bans a key from now on. It lifts bans in force and replaces them, so that staff can shorten
// a ban as well as lengthen it. It returns keys.ErrKeyNotFound, ErrKeyRevoked for a key that is
// refused for ever, or ErrTextContainsKey.
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

// placedEntry is the audit entry of a ban that replaced the lifted ones.
func placedEntry(key keys.Key, lifted []keys.Ban, placed keys.Ban) trail.Entry {
	entry := trail.Entry{
		Action:   "ban.place",
		TenantID: key.TenantID,
		Subject:  key.ID,
		After:    recordBan(keys.Ban{}, placed),
	}
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

// Lift ends the bans in force on a key at once. It returns the lifted ban that would have ended
// last, or keys.ErrKeyNotFound or ErrBanNotFound.
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

// liftBans lifts the bans in force on a locked key. It returns them as they were before, the one
// with the latest end first.
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

// BanFilter selects bans that match all of its set members.
type BanFilter struct {
	// Tenant is a tenant's name, KeyID a key's ID.
	Tenant, KeyID string
	Source        keys.BanSource
	// Since selects bans that began then or later.
	Since time.Time
	// Past adds bans that ended or were lifted to those in force.
	Past bool
	// After is the ID of the ban after which the list begins.
	After int64
	// Limit is the maximum number of bans; 0 for all.
	Limit int
}

// List returns bans in force at the instant, or all, the newest first. It returns
// plans.ErrTenantNotFound, or keys.ErrBanNotFound if there is no ban After.
func (d Bans) List(ctx context.Context, f BanFilter, now time.Time) iter.Seq2[keys.Ban, error] {
	return pgconn.ListOf(ctx, d.db, "list bans", banRow.ban, func() (*pgconn.ListQuery, error) {
		tenantID, err := tenants.IDOf(ctx, d.db, f.Tenant)
		if err != nil {
			return nil, err
		}
		q := pgconn.NewListQuery(selectBan)
		if !f.Past {
			q.And(`b.lifted_at is null and b.ends_at > ?`, now)
		}
		if tenantID != 0 {
			q.And(`b.tenant_id = ?`, tenantID)
		}
		if f.KeyID != "" {
			q.And(`b.key_id = ?`, f.KeyID)
		}
		if f.Source != "" {
			q.And(`b.source = ?`, string(f.Source))
		}
		if !f.Since.IsZero() {
			q.And(`b.starts_at >= ?`, f.Since)
		}
		if f.After != 0 {
			last, err := selectBans(ctx, d.db, ` where b.id = $1`, f.After)
			if err != nil {
				return nil, err
			}
			if len(last) == 0 {
				return nil, keys.ErrBanNotFound
			}
			q.And(`(b.starts_at, b.id) < (?, ?)`, last[0].StartsAt, f.After)
		}
		q.End(`b.starts_at desc, b.id desc`, f.Limit)
		return q, nil
	})
}
