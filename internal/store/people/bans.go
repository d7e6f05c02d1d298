package people

import (
	"context"
	"database/sql"
	"time"

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
		Reason: r.Reason, StartsAt: r.StartsAt.UTC(), EndsAt: r.EndsAt.UTC(), LiftedAt: pgconn.TimeOf(r.LiftedAt),
	}
}

func selectBans(ctx context.Context, q pgconn.Queryer, rest string, args ...any) ([]keys.Ban, error) {
	return pgconn.Collect(ctx, q, banRow.ban, selectBan+rest, args...)
}

// PlaceAutomaticBan implements strikes.BanStore. The API may place no other ban than the function does, whose clock is that of
// Postgres.
func (d Bans) PlaceAutomaticBan(ctx context.Context, tenantID int64, keyID string) (_ keys.Ban, err error) {
	defer pgconn.Wrap(&err, "place automatic ban")
	placed, err := pgconn.Collect(ctx, d.db, banRow.ban, `
		select id, tenant_id, tenant_name, key_id, source, reason, starts_at, ends_at from place_automatic_ban($1, $2)`, tenantID, keyID)
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

// SetLengths changes how long the first, the second and further automatic bans of a key last, in whole seconds. Only the owner of the tables may.
func (d Bans) SetLengths(ctx context.Context, first, second, further time.Duration) (err error) {
	defer pgconn.Wrap(&err, "set the lengths of bans")
	_, err = d.db.Exec(ctx, `
		update ban_lengths set length = (array[$1, $2, $3]::float8[])[earlier + 1] * interval '1 second' where earlier < 3`,
		first.Seconds(), second.Seconds(), further.Seconds())
	return err
}
