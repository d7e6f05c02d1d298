package tenancy

import (
	"context"
	"database/sql"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
)

// Keys stores API keys. Of a key it knows only the digest.
type Keys struct{ db *pgconn.DB }

var _ keys.ServiceStore = Keys{}

const (
	keyColumns = `
	k.id, k.tenant_id, t.name as tenant_name, k.name, k.environment, k.last4, coalesce(k.per_minute, 0) as per_minute,
	k.scope, array_to_string(k.allowed, ',') as allowed,
	k.created_at, k.expires_at, k.revoked_at, k.last_used_at, b.ends_at as ban_ends_at, b.source as ban_source,
		b.reason as ban_reason,
	(
	  select r.id from audit_entries a join api_keys r on r.id = a.after ->> 'replaced_by' and r.revoked_at is null
	  where a.subject = k.id and a.action = 'key.rotate' order by a.number desc limit 1
	) as replaced_by`
	withKey = `
	join tenants t on t.id = k.tenant_id left join lateral (
	  select b.ends_at, b.source, b.reason from bans b where b.key_id = k.id and b.lifted_at is null order by
	      b.ends_at desc limit 1
	) b on true`
	fromKeys  = ` from api_keys k` + withKey
	selectKey = `select ` + keyColumns + fromKeys
)

type keyRow struct {
	ID          string       `db:"id"`
	TenantID    int64        `db:"tenant_id"`
	TenantName  string       `db:"tenant_name"`
	Name        string       `db:"name"`
	Environment string       `db:"environment"`
	Last4       string       `db:"last4"`
	PerMinute   int64        `db:"per_minute"`
	Scope       keys.Scope   `db:"scope"`
	Allowed     string       `db:"allowed"`
	CreatedAt   time.Time    `db:"created_at"`
	ExpiresAt   sql.NullTime `db:"expires_at"`
	RevokedAt   sql.NullTime `db:"revoked_at"`
	LastUsedAt  sql.NullTime `db:"last_used_at"`

	BanEndsAt  sql.NullTime   `db:"ban_ends_at"`
	BanSource  sql.NullString `db:"ban_source"`
	BanReason  sql.NullString `db:"ban_reason"`
	ReplacedBy sql.NullString `db:"replaced_by"`
}

func (r keyRow) key() keys.Key {
	allowed, err := keys.ParseRanges(keys.Ranges(r.Allowed).List())
	if err != nil {
		// Somebody wrote such a text by hand in SQL. Keep it: without any range the key would be
		// valid for every address.
		allowed = keys.Ranges(r.Allowed)
	}
	return keys.Key{
		ID:          r.ID,
		TenantID:    r.TenantID,
		TenantName:  r.TenantName,
		Name:        r.Name,
		Environment: keys.Environment(r.Environment),
		Last4:       r.Last4,
		PerMinute:   r.PerMinute,
		Scope:       r.Scope,
		Allowed:     allowed,
		CreatedAt:   r.CreatedAt.UTC(),
		ExpiresAt:   pgconn.TimeOf(r.ExpiresAt),
		RevokedAt:   pgconn.TimeOf(r.RevokedAt),
		LastUsedAt:  pgconn.TimeOf(r.LastUsedAt),
		Ban: keys.Ban{
			Source: keys.BanSource(r.BanSource.String),
			Reason: r.BanReason.String,
			EndsAt: pgconn.TimeOf(r.BanEndsAt),
		},
		ReplacedBy: r.ReplacedBy.String,
	}
}

// CountActive returns the number of the tenant's keys that are neither revoked nor expired.
func (d Keys) CountActive(ctx context.Context, tenantID int64, now time.Time) (n int, err error) {
	defer pgconn.Wrap(&err, "count keys")
	err = d.db.Get(ctx, &n, `
		select count(*) from api_keys
		where tenant_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`, tenantID, now)
	return n, err
}

// Get returns the key with that ID in any state, or keys.ErrKeyNotFound.
func (d Keys) Get(ctx context.Context, id string) (_ keys.Key, err error) {
	defer pgconn.Wrap(&err, "get key")
	return getKey(ctx, d.db, `k.id = $1`, id)
}

// Find implements keys.ServiceStore. Staff may not read digests, so a function searches for the
// digest.
func (d Keys) Find(ctx context.Context, digest keys.Digest) (_ keys.Key, err error) {
	defer pgconn.Wrap(&err, "find key")
	return getKey(ctx, d.db, `k.id = find_key($1)`, digest[:])
}

func getKey(ctx context.Context, q pgconn.Queryer, where string, arg any) (keys.Key, error) {
	var row keyRow
	if err := pgconn.GetOr(ctx, q, &row, keys.ErrKeyNotFound, selectKey+` where `+where, arg); err != nil {
		return keys.Key{}, err
	}
	return row.key(), nil
}

// lockKey returns the key and blocks other changes to it and to its bans until the transaction
// ends.
func lockKey(ctx context.Context, tx pgconn.Tx, id string) (keys.Key, error) {
	return getKey(ctx, tx, `k.id = $1 for no key update of k`, id)
}

// IDs returns at most limit ids that begin with the prefix, in order.
func (d Keys) IDs(ctx context.Context, prefix string, limit int) (_ []string, err error) {
	defer pgconn.Wrap(&err, "list key ids")
	var ids []string
	err = d.db.Select(ctx, &ids, `
		select id from api_keys where starts_with(id, $1) order by id limit $2`, prefix, limit)
	return ids, err
}

// MadeOfItself returns the IDs of the valid keys that a key has made by rotating itself, and of
// those made by these in the same way. The key's holder may have them too.
func (d Keys) MadeOfItself(ctx context.Context, id string, now time.Time) (ids []string, err error) {
	defer pgconn.Wrap(&err, "list keys made by rotations")
	err = d.db.Select(ctx, &ids, `
		select id from api_keys
		where id in (select made_of_itself($1)) and revoked_at is null and (expires_at is null or expires_at > $2)
		order by created_at`, id, now)
	return ids, err
}
