package tenancy

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	catalogstore "petstore.example/internal/store/catalog"
	"petstore.example/internal/store/pgconn"
)

// CustomerKeys are the tenants' own keys. The API's role has no right on them: functions of Postgres
// decide by the requester's digest.
type CustomerKeys struct {
	db   *pgconn.DB
	once catalogstore.Idempotency
}

type ownRow struct {
	keyRow
	IssuedBy sql.NullString `db:"issued_by"`
	Replaces sql.NullString `db:"replaces"`
	Version  string         `db:"version"`
}

func (r ownRow) own() keys.CustomerKey {
	return keys.CustomerKey{Key: r.key(), IssuedBy: r.IssuedBy.String, Replaces: r.Replaces.String, Version: r.Version}
}

// List returns the keys that the requester may see, the newest first. It returns keys.ErrRequester,
// ErrRequesterBanned or ErrRequesterScope.
func (d CustomerKeys) List(
	ctx context.Context,
	_ int64,
	requester keys.Digest,
	q keys.CustomerQuery,
) (_ []keys.CustomerKey, err error) {
	defer pgconn.Wrap(&err, "list own keys")
	list, err := pgconn.Collect(
		ctx,
		d.db,
		ownRow.own,
		`select * from own_keys($1, $2, nullif($3, ''), nullif($4, ''), $5, nullif($6, ''), $7)`,
		requester[:],
		q.At,
		q.ID,
		string(q.Status),
		q.AfterAt,
		q.After,
		q.Limit,
	)
	return list, KeyRefusal(err)
}

// Change makes a change and returns the key, or the new key for a rotation. With once, a request
// that makes a key takes effect once; a repetition gets a keys.AlreadyIssuedError. It also returns
// the errors of a tenant's own changes.
func (d CustomerKeys) Change(
	ctx context.Context, tenantID int64, requester keys.Digest, c keys.CustomerChange, once *catalog.Idempotency,
) (own keys.CustomerKey, err error) {
	defer pgconn.Wrap(&err, "change own key")
	// Postgres decides about the expiry, by its clock.
	if err := errors.Join(c.Edit.Check(time.Time{}), keys.CheckText(c.Reason)); err != nil {
		return keys.CustomerKey{}, err
	}
	change := func(ctx context.Context, tx pgconn.Tx) (err error) {
		own, err = manageKey(ctx, tx, requester, c)
		return KeyRefusal(err)
	}
	if once == nil {
		// This is a statement of its own, because Go does not say whether a return statement reads
		// own before the call.
		err = pgconn.WriteTx(ctx, d.db, change)
		return own, err
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

func manageKey(
	ctx context.Context,
	tx pgconn.Tx,
	requester keys.Digest,
	c keys.CustomerChange,
) (keys.CustomerKey, error) {
	change := membersOf(c.Edit)
	change.makes(c.NewID, c.Token.Digest(), c.Token.Last4())
	change["grace"], change["reason"] = c.GracePeriod/time.Second, c.Reason
	if c.From.IsValid() {
		change["client"] = addressText(c.From)
	}
	if c.Version != "" {
		change["version"] = c.Version
	}
	if c.Replacements {
		change["replacements"] = true
	}
	text, err := json.Marshal(change)
	if err != nil {
		return keys.CustomerKey{}, fmt.Errorf("marshal change: %w", err)
	}
	if _, err := tx.Exec(ctx, `select set_config('petstore.deadline', $1, true)`, tx.Deadline()); err != nil {
		return keys.CustomerKey{}, err
	}
	rows := make([]ownRow, 1)
	err = tx.Select(ctx, &rows, `select * from manage_key($1, $2, $3, $4)`, requester[:], c.Action, c.ID, string(text))
	own := rows[0].own()
	for _, ended := range rows[1:] {
		own.AlsoEnded = append(own.AlsoEnded, ended.ID)
	}
	return own, err
}

// KeyRefusal translates a refusal by the functions that list or change keys.
func KeyRefusal(err error) error {
	if pgconn.IsConstraint(err, "customer_keys_rotated") {
		return &keys.AlreadyRotatedError{ID: pq.As(err).Detail}
	}
	return pgconn.Meaning(err, keyRefusals)
}

var keyRefusals = map[string]error{
	"customer_keys_asker":     keys.ErrRequester,
	"customer_keys_revoked":   errors.Join(keys.ErrRequester, keys.StatusError(keys.Revoked)),
	"customer_keys_expired":   errors.Join(keys.ErrRequester, keys.StatusError(keys.Expired)),
	"customer_keys_suspended": errors.Join(keys.ErrRequester, keys.StatusError(keys.TenantSuspended)),
	"customer_keys_ban":       keys.ErrRequesterBanned,
	"customer_keys_scope":     keys.ErrRequesterScope,
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
	// Only staff get these. The last two are from the trigger api_keys_revocation.
	"customer_keys_is_revoked":  keys.ErrKeyRevoked,
	"customer_keys_is_expired":  keys.ErrKeyExpired,
	"customer_keys_not_revoked": keys.ErrKeyNotRevoked,
	"api_keys_revocation_final": keys.ErrRevocationFinal,
	"api_keys_revoked_by":       keys.ErrRevokedByOther,
}
