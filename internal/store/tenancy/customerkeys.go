package people

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/store/catalogue"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/trail"
)

// OwnKeys are the keys of tenants, for themselves. The API's role has no right on them: functions
// of Postgres judge by the digest of who asks.
type OwnKeys struct {
	db   *pgconn.DB
	once catalogue.Idempotency
}

type ownRow struct {
	keyRow
	IssuedBy sql.NullString `db:"issued_by"`
	Replaces sql.NullString `db:"replaces"`
	Version  string         `db:"version"`
}

func (r ownRow) own() keys.Own {
	return keys.Own{Key: r.key(), IssuedBy: r.IssuedBy.String, Replaces: r.Replaces.String, Version: r.Version}
}

// List returns the keys that the asker may see, the newest first. It returns keys.ErrAsker,
// ErrAskerBanned or ErrAskerScope.
func (d OwnKeys) List(ctx context.Context, _ int64, asker keys.Digest, q keys.OwnQuery) (_ []keys.Own, err error) {
	defer pgconn.Wrap(&err, "list own keys")
	list, err := pgconn.Collect(
		ctx,
		d.db,
		ownRow.own,
		`select * from own_keys($1, $2, nullif($3, ''), nullif($4, ''), $5, nullif($6, ''), $7)`,
		asker[:],
		q.At,
		q.ID,
		string(q.Status),
		q.AfterAt,
		q.After,
		q.Limit,
	)
	return list, ownRefusal(err)
}

// Change makes a change and returns the key: of a rotation, the new one. With once, a request that
// makes a key is served once; another one gets a keys.AlreadyIssuedError. It also returns the
// errors of a tenant's own changes.
func (d OwnKeys) Change(
	ctx context.Context, tenantID int64, asker keys.Digest, c keys.OwnChange, once *catalog.Idempotency,
) (own keys.Own, err error) {
	defer pgconn.Wrap(&err, "change own key")
	for _, text := range []*string{c.Edit.Name, &c.Reason} {
		if text != nil && keys.CheckText(*text) != nil {
			return keys.Own{}, keys.CheckText(*text)
		}
	}
	change := func(ctx context.Context, tx pgconn.Tx) (err error) {
		own, err = manageKey(ctx, tx, asker, c)
		return ownRefusal(err)
	}
	if once == nil {
		return own, pgconn.WriteTx(ctx, d.db, change)
	}
	answered, err := d.once.Do(ctx, tenantID, once, func(ctx context.Context, tx pgconn.Tx) (catalog.Answer, error) {
		err := change(ctx, tx)
		return catalog.Answer{Status: http.StatusCreated, Body: []byte(own.ID)}, err
	})
	if err == nil && answered.Replayed {
		err = &keys.AlreadyIssuedError{ID: string(answered.Body)}
	}
	return own, err
}

func manageKey(ctx context.Context, tx pgconn.Tx, asker keys.Digest, c keys.OwnChange) (keys.Own, error) {
	digest := c.Token.Digest()
	change := map[string]any{
		"id":     c.NewID,
		"digest": hex.EncodeToString(digest[:]),
		"last4":  c.Token.Last4(),
		"grace":  c.GracePeriod / time.Second,
		"reason": c.Reason,
	}
	if c.From.IsValid() {
		change["client"] = addressText(c.From)
	}
	if c.Version != "" {
		change["version"] = c.Version
	}
	if c.Replacements {
		change["replacements"] = true
	}
	e := c.Edit
	if e.Name != nil {
		change["name"] = *e.Name
	}
	if e.Scope != nil {
		change["scope"] = *e.Scope
	}
	if e.Allowed != nil {
		change["allowed"] = *e.Allowed
	}
	if e.PerMinute != nil {
		change["per_minute"] = *e.PerMinute
		if *e.PerMinute == 0 {
			change["per_minute"] = nil
		}
	}
	if e.ExpiresAt != nil {
		change["expires_at"] = trail.TimeOrNil(*e.ExpiresAt)
	}
	text, err := json.Marshal(change)
	if err != nil {
		return keys.Own{}, fmt.Errorf("marshal change: %w", err)
	}
	if _, err := tx.Exec(ctx, `select set_config('petstore.deadline', $1, true)`, tx.Deadline()); err != nil {
		return keys.Own{}, err
	}
	rows := make([]ownRow, 1)
	err = tx.Select(ctx, &rows, `select * from manage_key($1, $2, $3, $4)`, asker[:], c.Action, c.ID, string(text))
	own := rows[0].own()
	for _, ended := range rows[1:] {
		own.AlsoEnded = append(own.AlsoEnded, ended.ID)
	}
	return own, err
}

// ownRefusal says what the refusal by a rule of own_keys and manage_key means.
func ownRefusal(err error) error {
	if pgconn.IsConstraint(err, "customer_keys_rotated") {
		return &keys.AlreadyRotatedError{ID: pq.As(err).Detail}
	}
	return pgconn.Meaning(err, ownRefusals)
}

var ownRefusals = map[string]error{
	"customer_keys_asker":     keys.ErrAsker,
	"customer_keys_revoked":   errors.Join(keys.ErrAsker, keys.StatusError(keys.Revoked)),
	"customer_keys_expired":   errors.Join(keys.ErrAsker, keys.StatusError(keys.Expired)),
	"customer_keys_suspended": errors.Join(keys.ErrAsker, keys.StatusError(keys.TenantSuspended)),
	"customer_keys_ban":       keys.ErrAskerBanned,
	"customer_keys_scope":     keys.ErrAskerScope,
	"customer_keys_unknown":   keys.ErrKeyNotFound,
	"customer_keys_version":   keys.ErrKeyChanged,
	"customer_keys_inactive":  keys.ErrKeyInactive,
	"customer_keys_expiry":    keys.ErrExpiryPast,
	"customer_keys_late":      keys.ErrExpiryLate,
	"customer_keys_room":      keys.ErrTooManyKeys,
	"customer_keys_day":       keys.ErrManyKeysMade,
	"customer_keys_last":      keys.ErrLastManageKey,
	"customer_keys_stale":     keys.ErrStaleSignIn,
	"customer_keys_banned":    keys.ErrBannedSignIn,
}
