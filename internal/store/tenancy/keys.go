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
	fromKeys = `
	from api_keys k join tenants t on t.id = k.tenant_id left join lateral (
	  select b.ends_at, b.source, b.reason from bans b where b.key_id = k.id and b.lifted_at is null order by
	      b.ends_at desc limit 1
	) b on true`
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
		// It was written by hand in SQL. Left out, the key would be one for any address.
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

// Create implements keys.ServiceStore.
func (d Keys) Create(ctx context.Context, by audit.By, k keys.Key, digest keys.Digest) (created keys.Key, err error) {
	defer pgconn.Wrap(&err, "create key")
	if err := keys.CheckText(k.Name); err != nil {
		return keys.Key{}, fmt.Errorf("name: %w", err)
	}
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		// The lock lets one issue at a time count the tenant's keys.
		tenant, err := tenants.Lock(ctx, tx, k.TenantName, sql.NullTime{})
		if err != nil {
			return err
		}
		k.TenantID = tenant.ID
		if created, err = insertKey(ctx, tx, k, digest, ""); err != nil {
			return err
		}
		return trail.Write(tx, by, trail.Entry{
			Action: "key.issue", TenantID: tenant.ID, Subject: k.ID, After: recordKey(keys.Key{}, created),
		})
	})
	return created, err
}

// insertKey adds a key for a locked tenant, in the place of the key replaces if that is not "". It
// returns keys.ErrTooManyKeys when the tenant has the maximum.
func insertKey(
	ctx context.Context,
	tx pgconn.Tx,
	k keys.Key,
	digest keys.Digest,
	replaces string,
) (keys.Key, error) {
	if err := checkRoom(ctx, tx, k, replaces, k.CreatedAt); err != nil {
		return keys.Key{}, err
	}
	_, err := tx.Exec(
		ctx,
		`
		insert into api_keys (id, tenant_id, name, environment, digest, last4, per_minute, scope, allowed, created_at,
			expires_at)
		values ($1, $2, $3, $4, $5, $6, nullif($7, 0), $8, string_to_array($9, ',')::cidr[], $10, $11)`,
		k.ID,
		k.TenantID,
		k.Name,
		string(k.Environment),
		digest[:],
		k.Last4,
		k.PerMinute,
		string(k.Scope),
		string(k.Allowed),
		k.CreatedAt,
		pgconn.NullTime(k.ExpiresAt),
	)
	if err != nil {
		return keys.Key{}, err
	}
	return getKey(ctx, tx, `k.id = $1`, k.ID)
}

// CountActive returns how many of the tenant's keys are neither revoked nor expired.
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

// Find implements keys.ServiceStore. Staff may not read digests, so a function looks for this one.
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

// MadeOfItself returns the IDs of the valid keys that a key has made by rotating itself, and that
// these have made so. Its holder may have them too.
func (d Keys) MadeOfItself(ctx context.Context, id string, now time.Time) (ids []string, err error) {
	defer pgconn.Wrap(&err, "list keys made by rotations")
	err = d.db.Select(ctx, &ids, `
		select id from api_keys
		where id in (select made_of_itself($1)) and revoked_at is null and (expires_at is null or expires_at > $2)
		order by created_at`, id, now)
	return ids, err
}

// Revoke implements keys.ServiceStore.
func (d Keys) Revoke(ctx context.Context, by audit.By, id string, now time.Time) (after keys.Key, err error) {
	defer pgconn.Wrap(&err, "revoke key")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		before, err := lockKey(ctx, tx, id)
		if err != nil {
			return err
		}
		if !before.RevokedAt.IsZero() {
			return keys.ErrKeyRevoked
		}
		if _, err := tx.Exec(ctx, `update api_keys set revoked_at = $2 where id = $1`, id, now); err != nil {
			return err
		}
		if after, err = getKey(ctx, tx, `k.id = $1`, id); err != nil {
			return err
		}
		return trail.Write(tx, by, trail.Entry{
			Action: "key.revoke", TenantID: before.TenantID, Subject: id,
			Before: recordKey(before, before), After: recordKey(before, after),
		})
	})
	return after, err
}
