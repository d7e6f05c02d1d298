package tenancy

import (
	"context"
	"errors"
	"iter"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
)

// KeyFilter selects keys that match all of its set members.
type KeyFilter struct {
	// Tenant is a tenant's name.
	Tenant string
	// Status is keys.Active, Banned, Expired or Revoked.
	Status keys.Status
	Scope  keys.Scope
	// ExpiresBefore selects keys that will expire before then, and are neither expired nor revoked.
	ExpiresBefore time.Time
	// UnusedSince selects keys that existed at that time, and have not been used since.
	UnusedSince time.Time
	// Last4 is the end of the key.
	Last4 string
	// Search is a part of the key's name, in any case.
	Search string
	// After is the ID of the key after which the list begins.
	After string
	// Limit is the maximum number of keys; 0 for all.
	Limit int
}

// The conditions on the status of a key at the instant ?, as in keys.Key.Valid and Status.
const (
	keyIsValid   = `k.revoked_at is null and (k.expires_at is null or k.expires_at > ?)`
	keyIsExpired = `k.revoked_at is null and k.expires_at <= ?`
)

// List returns keys by tenant, the newest first. If ExpiresBefore is set, the first to expire come
// first; with the status expired or revoked, the last to end. It returns plans.ErrTenantNotFound,
// keys.ErrKeyNotFound if there is no key After, or ErrNotInList if that key has no place in the
// order.
func (d Keys) List(ctx context.Context, f KeyFilter, now time.Time) iter.Seq2[keys.Key, error] {
	return pgconn.ListOf(ctx, d.db, "list keys", keyRow.key, func() (*pgconn.ListQuery, error) {
		tenantID, err := tenants.IDOf(ctx, d.db, f.Tenant)
		if err != nil {
			return nil, err
		}
		q := pgconn.NewListQuery(selectKey)
		if tenantID != 0 {
			q.And(`k.tenant_id = ?`, tenantID)
		}
		f.conditions(q, now)
		var last keys.Key
		if f.After != "" {
			if last, err = getKey(ctx, d.db, `k.id = $1`, f.After); err != nil {
				return nil, err
			}
			if !f.orders(last) {
				return nil, ErrNotInList
			}
		}
		f.order(q, last)
		return q, nil
	})
}

// ErrNotInList: a list can't begin after a key that is no longer in it, such as a key that was
// brought back since.
var ErrNotInList = errors.New("the key after which the list begins is no longer in it")

// orders reports whether the key has the instant by which the list is ordered.
func (f KeyFilter) orders(k keys.Key) bool {
	switch {
	case !f.ExpiresBefore.IsZero() || f.Status == keys.Expired:
		return !k.ExpiresAt.IsZero()
	case f.Status == keys.Revoked:
		return !k.RevokedAt.IsZero()
	}
	return true
}

// order begins the list after the last key, unless its ID is empty. Each order has an index of its
// keys.
func (f KeyFilter) order(q *pgconn.ListQuery, last keys.Key) {
	var order string
	switch {
	case !f.ExpiresBefore.IsZero():
		order = `k.expires_at, k.id`
		if last.ID != "" {
			q.And(`(k.expires_at, k.id) > (?, ?)`, pgconn.NullTime(last.ExpiresAt), last.ID)
		}
	case f.Status == keys.Expired:
		order = `k.expires_at desc, k.id desc`
		if last.ID != "" {
			q.And(`(k.expires_at, k.id) < (?, ?)`, pgconn.NullTime(last.ExpiresAt), last.ID)
		}
	case f.Status == keys.Revoked:
		order = `k.revoked_at desc, k.id desc`
		if last.ID != "" {
			q.And(`(k.revoked_at, k.id) < (?, ?)`, pgconn.NullTime(last.RevokedAt), last.ID)
		}
	default:
		order = `t.name, k.created_at desc, k.id`
		if last.ID != "" {
			q.And(`t.name >= ?`, last.TenantName)
			q.And(`t.name > ? or k.created_at < ? or k.created_at = ? and k.id > ?`,
				last.TenantName, last.CreatedAt, last.CreatedAt, last.ID)
		}
	}
	q.End(order, f.Limit)
}

func (f KeyFilter) conditions(q *pgconn.ListQuery, now time.Time) {
	switch f.Status {
	case keys.Active:
		q.And(keyIsValid+` and (b.ends_at is null or b.ends_at <= ?)`, now, now)
	case keys.Banned:
		q.And(keyIsValid+` and k.id in (select key_id from bans where lifted_at is null and ends_at > ?)`, now, now)
	case keys.Expired:
		q.And(keyIsExpired, now)
	case keys.Revoked:
		q.And(`k.revoked_at is not null`)
	}
	if f.Scope != "" {
		q.And(`k.scope = ?`, string(f.Scope))
	}
	if !f.ExpiresBefore.IsZero() {
		q.And(`k.revoked_at is null and k.expires_at > ? and k.expires_at < ?`, now, f.ExpiresBefore)
	}
	if !f.UnusedSince.IsZero() {
		// No index includes the last use, because servers write it all the time.
		q.And(`k.created_at < ? and (k.last_used_at is null or k.last_used_at < ?)`, f.UnusedSince, f.UnusedSince)
	}
	if f.Last4 != "" {
		q.And(`k.last4 = ?`, f.Last4)
	}
	if f.Search != "" {
		q.And(`k.name ilike ?`, pgconn.Like(f.Search))
	}
}

// WithPrefix returns at most limit keys whose IDs begin with the prefix, in the order of their IDs.
func (d Keys) WithPrefix(ctx context.Context, prefix string, limit int) (_ []keys.Key, err error) {
	defer pgconn.Wrap(&err, "list keys by prefix")
	return pgconn.Collect(
		ctx,
		d.db,
		keyRow.key,
		selectKey+` where starts_with(k.id, $1) order by k.id limit $2`,
		prefix,
		limit,
	)
}

// Summary returns at most limit keys of a tenant, and the number of all its keys. The key with the
// given ID leads, then come banned keys, active keys and the rest, each by last use, the latest
// first.
func (d Keys) Summary(
	ctx context.Context,
	tenantID int64,
	first string,
	limit int,
	now time.Time,
) (list []keys.Key, total int, err error) {
	defer pgconn.Wrap(&err, "summarize keys")
	type row struct {
		keyRow
		Total int `db:"total"`
	}
	list, err = pgconn.Collect(ctx, d.db, func(r row) keys.Key {
		total = r.Total
		return r.key()
	}, `select `+keyColumns+`, count(*) over () as total`+fromKeys+`
		where k.tenant_id = $2
		order by k.id = $3 desc, (b.ends_at > $1) is true desc, (k.revoked_at is null and (k.expires_at is null or
			k.expires_at > $1)) desc,
		         k.last_used_at desc nulls last, k.id
		limit $4`, now, tenantID, first, limit)
	return list, total, err
}
