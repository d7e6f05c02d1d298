package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/store/pgconn"
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
		Reason: r.Reason, StartsAt: r.StartsAt.UTC(), EndsAt: r.EndsAt.UTC(), LiftedAt: timeOf(r.LiftedAt),
	}
}

func selectBans(ctx context.Context, q pgconn.Queryer, rest string, args ...any) ([]keys.Ban, error) {
	return pgconn.Collect(ctx, q, banRow.ban, selectBan+rest, args...)
}

// PlaceAutomaticBan implements strikes.BanStore. Like every change to a key or its bans it locks the key's row first, so
// of servers that come at the same moment one places the ban and the others find it.
func (d Bans) PlaceAutomaticBan(ctx context.Context, tenantID int64, keyID string, now time.Time) (b keys.Ban, err error) {
	now = now.UTC().Truncate(time.Microsecond) // as Postgres keeps it
	err = d.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		key, err := lockKey(ctx, tx, keyID)
		if err != nil {
			return err
		}
		if key.TenantID != tenantID {
			return keys.ErrKeyNotFound
		}
		inForce, err := selectBans(ctx, tx, `
			where `+banInForce+` and b.tenant_id = $2 and b.key_id = $3 order by b.ends_at desc limit 1`,
			now, tenantID, keyID)
		if err != nil {
			return err
		}
		if len(inForce) > 0 {
			b = inForce[0]
			return nil
		}
		b, err = insertAutomaticBan(ctx, tx, key, now)
		return err
	})
	if err != nil {
		return keys.Ban{}, fmt.Errorf("place automatic ban: %w", err)
	}
	return b, nil
}

// insertAutomaticBan bans a locked key for a time that grows with its earlier automatic bans.
func insertAutomaticBan(ctx context.Context, tx pgconn.Tx, k keys.Key, now time.Time) (keys.Ban, error) {
	var earlier int
	err := tx.Get(ctx, &earlier, `
		select count(*) from bans
		where tenant_id = $1 and key_id = $2 and source = $3 and lifted_at is null and starts_at > $4`,
		k.TenantID, k.ID, string(keys.Automatic), now.Add(-keys.RepeatPeriod))
	if err != nil {
		return keys.Ban{}, err
	}
	b := keys.Ban{
		TenantID: k.TenantID, TenantName: k.TenantName, KeyID: k.ID, Source: keys.Automatic, Reason: keys.AutomaticReason,
	}
	b.StartsAt, b.EndsAt = keys.BanTimes(now, keys.BanDuration(earlier))
	err = tx.Get(ctx, &b.ID, `
		insert into bans (tenant_id, key_id, source, reason, starts_at, ends_at) values ($1, $2, $3, $4, $5, $6)
		returning id`, b.TenantID, b.KeyID, string(b.Source), b.Reason, b.StartsAt, b.EndsAt)
	if err != nil {
		return keys.Ban{}, err
	}
	by := audit.By{Actor: audit.System, Reason: b.Reason}
	return b, writeAudit(ctx, tx, by, auditEntry{
		action: "ban.place", tenantID: b.TenantID, subject: b.KeyID, after: recordBan(keys.Ban{}, b),
	})
}
