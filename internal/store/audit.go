package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
)

// errDryRun rolls back a dry run.
var errDryRun = errors.New("dry run")

// change runs fn in a transaction, which is rolled back when fn fails or by.DryRun is set.
func change(ctx context.Context, db *pgconn.DB, by audit.By, fn func(context.Context, pgconn.Tx) error) error {
	err := db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		if by.DryRun {
			return errDryRun
		}
		return nil
	})
	if errors.Is(err, errDryRun) {
		return nil
	}
	return err
}

// auditEntry is one change. before and after are marshaled to JSON; nil for none.
type auditEntry struct {
	at            time.Time
	action        string
	tenantID      int64
	subject       string
	before, after any
}

// writeAudit writes the entry in the transaction of the change. It reads nothing, because the API may only insert. It returns
// keys.ErrTextContainsKey for a reason or an actor that holds a key. The texts of the records are checked where they come in, so
// that an older record with such a text can still be revoked or lifted.
func writeAudit(ctx context.Context, tx pgconn.Tx, by audit.By, e auditEntry) error {
	if err := errors.Join(keys.CheckText(by.Actor), keys.CheckText(by.Reason)); err != nil {
		return fmt.Errorf("write audit entry: %w", err)
	}
	before, err := jsonOrNull(e.before)
	if err != nil {
		return err
	}
	after, err := jsonOrNull(e.after)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		insert into audit_entries (at, actor, action, tenant_id, subject, before, after, reason)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`,
		e.at, by.Actor, e.action, sql.NullInt64{Int64: e.tenantID, Valid: e.tenantID != 0},
		e.subject, before, after, by.Reason)
	if err != nil {
		return fmt.Errorf("write audit entry: %w", err)
	}
	return nil
}

func jsonOrNull(v any) (sql.NullString, error) {
	if v == nil {
		return sql.NullString{}, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return sql.NullString{}, fmt.Errorf("write audit entry: %w", err)
	}
	return sql.NullString{String: string(text), Valid: true}, nil
}

// The records are what an audit entry holds of a subject: its visible values, never a digest or a secret.
type (
	tenantRecord struct {
		Name        string     `json:"name"`
		Plan        string     `json:"plan"`
		PerMinute   int64      `json:"per_minute"`
		PerDay      int64      `json:"per_day"`
		SuspendedAt *time.Time `json:"suspended_at,omitempty"`
	}
	keyRecord struct {
		ID          string           `json:"id"`
		Name        string           `json:"name,omitempty"`
		Environment keys.Environment `json:"environment"`
		Last4       string           `json:"last4"`
		PerMinute   int64            `json:"per_minute,omitempty"`
		CreatedAt   time.Time        `json:"created_at"`
		ExpiresAt   *time.Time       `json:"expires_at,omitempty"`
		RevokedAt   *time.Time       `json:"revoked_at,omitempty"`
	}
	banRecord struct {
		Key      string         `json:"key_id"`
		Source   keys.BanSource `json:"source"`
		Reason   string         `json:"reason"`
		StartsAt time.Time      `json:"starts_at"`
		EndsAt   time.Time      `json:"ends_at"`
		LiftedAt *time.Time     `json:"lifted_at,omitempty"`
	}
)

func recordTenant(t plans.Tenant) tenantRecord {
	return tenantRecord{t.Name, t.Plan, t.Quota.PerMinute, t.Quota.PerDay, timeOrNil(t.SuspendedAt)}
}

func recordKey(k keys.Key) keyRecord {
	return keyRecord{
		k.ID, k.Name, k.Environment, k.Last4, k.PerMinute, k.CreatedAt.UTC(), timeOrNil(k.ExpiresAt), timeOrNil(k.RevokedAt),
	}
}

func recordBan(b keys.Ban) banRecord {
	return banRecord{b.KeyID, b.Source, b.Reason, b.StartsAt.UTC(), b.EndsAt.UTC(), timeOrNil(b.LiftedAt)}
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// nullTime is the time as a column value: null for zero.
func nullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: !t.IsZero()} }

// timeOf is the column value as a time in UTC: zero for null.
func timeOf(t sql.NullTime) time.Time {
	if !t.Valid {
		return time.Time{}
	}
	return t.Time.UTC()
}
