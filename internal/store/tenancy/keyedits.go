package tenancy

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// members are the members of a change, as change_key of Postgres reads them.
type members map[string]any

func membersOf(e keys.Edit) members {
	m := members{}
	if e.Name != nil {
		m["name"] = *e.Name
	}
	if e.Scope != nil {
		m["scope"] = *e.Scope
	}
	if e.Allowed != nil {
		m["allowed"] = *e.Allowed
	}
	if e.PerMinute != nil {
		m["per_minute"] = e.PerMinute
		if *e.PerMinute == 0 {
			m["per_minute"] = nil
		}
	}
	if e.ExpiresAt != nil {
		m["expires_at"] = trail.TimeOrNil(*e.ExpiresAt)
	}
	return m
}

// makes adds the members that only a new key has.
func (m members) makes(id string, digest keys.Digest, last4 string) {
	m["id"], m["digest"], m["last4"] = id, hex.EncodeToString(digest[:]), last4
}

// keyChange is a change that change_key made to a key: the action of its entry, and the key before
// and after. before is zero for a new key.
type keyChange struct {
	action        string
	before, after keys.Key
}

// changeKey changes a key as staff, and returns each changed key before and after.
const changeKey = `
	select c.did, v.is_after, ` + keyColumns + `
	from change_key_as_staff($1, $2, $3, $4) with ordinality as c (did, before, after, n)
	cross join lateral (values (false, c.before), (true, c.after)) as v (is_after, key)
	cross join lateral (select (v.key).*) k` + withKey + ` order by c.n, v.is_after`

// change calls change_key and writes an entry for each change that it made. There is none if
// nothing changes.
func (d Keys) change(
	ctx context.Context, by audit.By, action, id string, m members, at time.Time,
) (done []keyChange, err error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("marshal change: %w", err)
	}
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		var rows []struct {
			keyRow
			Did     string `db:"did"`
			IsAfter bool   `db:"is_after"`
		}
		if err := tx.Select(ctx, &rows, changeKey, action, id, string(text), at); err != nil {
			return KeyRefusal(err)
		}
		done = nil
		var c keyChange
		for _, r := range rows {
			if !r.IsAfter {
				c.before = r.key()
				continue
			}
			c.action, c.after = r.Did, r.key()
			if done, c = append(done, c), (keyChange{}); r.Did == "key.issue" && action == "key.rotate" {
				done[len(done)-2].after.ReplacedBy = r.ID
			}
		}
		for _, c := range done {
			if err := c.write(ctx, tx, by, at); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// write writes the entry of the change.
func (c keyChange) write(ctx context.Context, tx pgconn.Tx, by audit.By, at time.Time) error {
	entry := trail.Entry{Action: c.action, TenantID: c.after.TenantID, Subject: c.after.ID}
	switch c.action {
	case "ban.place":
		bans, err := bansInForce(ctx, tx, c.after.ID, at)
		if err != nil {
			return err
		}
		entry.After = recordBan(keys.Ban{}, bans[0])
	case "key.issue":
		entry.After = recordKey(c.before, c.after)
	default:
		after := recordKey(c.before, c.after)
		if c.action == "key.rotate" {
			after.ReplacedBy = c.after.ReplacedBy
		}
		entry.Before, entry.After, entry.Hidden = recordKey(c.before, c.before), after, hiddenOfKey(c.before, c.after)
	}
	return trail.Write(tx, by, entry)
}

// Create implements keys.ServiceStore.
func (d Keys) Create(ctx context.Context, by audit.By, k keys.Key, digest keys.Digest) (created keys.Key, err error) {
	defer pgconn.Wrap(&err, "create key")
	e := keys.Edit{
		Name:      &k.Name,
		Scope:     &k.Scope,
		Allowed:   &k.Allowed,
		PerMinute: &k.PerMinute,
		ExpiresAt: &k.ExpiresAt,
	}
	if err := e.Check(time.Time{}); err != nil {
		return keys.Key{}, err
	}
	m := membersOf(e)
	m.makes(k.ID, digest, k.Last4)
	m["environment"] = k.Environment
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		tenant, err := tenants.Lock(ctx, tx, k.TenantName, sql.NullTime{})
		if err != nil {
			return err
		}
		m["tenant_id"] = tenant.ID
		created, err = lastOf(Keys{d.db.In(tx)}.change(ctx, by, "key.issue", k.ID, m, k.CreatedAt))
		return err
	})
	return created, err
}

// lastOf returns the key after the last of the changes.
func lastOf(done []keyChange, err error) (keys.Key, error) {
	if err != nil {
		return keys.Key{}, err
	}
	return done[len(done)-1].after, nil
}

// Edit implements keys.ServiceStore.
func (d Keys) Edit(
	ctx context.Context, by audit.By, id string, e keys.Edit, now time.Time,
) (before, after keys.Key, err error) {
	return d.edit(ctx, by, id, membersOf(e), e.Check(time.Time{}), now)
}

// edit checks an edit and makes it.
func (d Keys) edit(
	ctx context.Context, by audit.By, id string, m members, wrong error, now time.Time,
) (before, after keys.Key, err error) {
	defer pgconn.Wrap(&err, "edit key")
	if wrong != nil {
		return before, after, wrong
	}
	done, err := d.change(ctx, by, "key.edit", id, m, now)
	switch {
	case err != nil:
		return before, after, err
	case len(done) == 0:
		before, err = getKey(ctx, d.db, `k.id = $1`, id)
		return before, before, err
	}
	return done[0].before, done[0].after, nil
}

// Rotate implements keys.ServiceStore.
func (d Keys) Rotate(
	ctx context.Context, by audit.By, id string, now time.Time, rotation keys.Rotation, next keys.Replacement,
) (r keys.Rotated, err error) {
	defer pgconn.Wrap(&err, "rotate key")
	old, err := getKey(ctx, d.db, `k.id = $1`, id)
	if err != nil {
		return r, err
	}
	newID, token, err := next(old.Environment)
	if err != nil {
		return r, err
	}
	m := membersOf(keys.Edit{ExpiresAt: rotation.ExpiresAt})
	m.makes(newID, token.Digest(), token.Last4())
	m["grace"] = rotation.GracePeriod.Seconds()
	done, err := d.change(ctx, by, "key.rotate", id, m, now)
	for _, c := range done {
		switch c.action {
		case "key.rotate":
			r.Old = c.after
		case "key.issue":
			r.New = c.after
		case "key.edit":
			r.Ended = append(r.Ended, c.after.ID)
		}
	}
	return r, err
}

// Revoke implements keys.ServiceStore.
func (d Keys) Revoke(ctx context.Context, by audit.By, id string, now time.Time) (_ keys.Key, err error) {
	defer pgconn.Wrap(&err, "revoke key")
	return lastOf(d.change(ctx, by, "key.revoke", id, members{}, now))
}

// Unrevoke brings a revoked key back. It returns keys.ErrKeyNotFound, ErrKeyNotRevoked or
// ErrTooManyKeys. A trigger, which goes by Postgres's clock and the login, may refuse with
// ErrRevocationFinal or ErrRevokedByOther.
func (d Keys) Unrevoke(ctx context.Context, by audit.By, id string, now time.Time) (_ keys.Key, err error) {
	defer pgconn.Wrap(&err, "unrevoke key")
	return lastOf(d.change(ctx, by, "key.unrevoke", id, members{}, now))
}
