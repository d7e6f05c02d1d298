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
		// fn writes the audit entry, so triggers need not.
		if _, err := tx.Exec(ctx, `select set_config('petstore.audited', 'on', true)`); err != nil {
			return err
		}
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
	action        string
	tenantID      int64
	subject       string
	before, after any
}

// writeAudit writes the entry in the transaction of the change, as the last thing that the transaction does: all that write an entry
// wait for each other until they commit. A trigger gives the entry its number, the instant, the login, the address and the hash. It
// returns keys.ErrTextContainsKey for a reason or an actor that holds a key.
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
		insert into audit_entries (claimed_actor, action, tenant_id, subject, before, after, reason)
		values ($1, $2, $3, $4, $5, $6, $7)`,
		by.Actor, e.action, sql.NullInt64{Int64: e.tenantID, Valid: e.tenantID != 0},
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

// The records are what an audit entry holds of a subject. An entry is never changed, so it holds nothing that may have to be
// erased: no name and no text of a customer, and no digest or secret. Redacted names the members that the change set or
// changed, and whose values are in the subject's own row only.
type (
	tenantRecord struct {
		Plan        string     `json:"plan"`
		PerMinute   int64      `json:"per_minute"`
		PerDay      int64      `json:"per_day"`
		SuspendedAt *time.Time `json:"suspended_at,omitempty"`
		Until       *time.Time `json:"until,omitempty"`
		Then        string     `json:"then,omitempty"`
		BillingRef  string     `json:"billing_ref,omitempty"`
		Redacted    []string   `json:"redacted,omitempty"`
	}
	keyRecord struct {
		ID          string           `json:"id"`
		Environment keys.Environment `json:"environment"`
		Last4       string           `json:"last4"`
		PerMinute   int64            `json:"per_minute,omitempty"`
		CreatedAt   time.Time        `json:"created_at"`
		ExpiresAt   *time.Time       `json:"expires_at,omitempty"`
		RevokedAt   *time.Time       `json:"revoked_at,omitempty"`
		Redacted    []string         `json:"redacted,omitempty"`
	}
	banRecord struct {
		Key      string         `json:"key_id"`
		Source   keys.BanSource `json:"source"`
		StartsAt time.Time      `json:"starts_at"`
		EndsAt   time.Time      `json:"ends_at"`
		LiftedAt *time.Time     `json:"lifted_at,omitempty"`
		Redacted []string       `json:"redacted,omitempty"`
	}
)

// The record functions return the record of a subject after a change, in which before is the subject before it: zero for a new one.
// The record of the subject before the change is that of no change.

func recordTenant(before, after plans.Tenant) tenantRecord {
	return tenantRecord{
		Plan: after.Plan, PerMinute: after.Quota.PerMinute, PerDay: after.Quota.PerDay, SuspendedAt: timeOrNil(after.SuspendedAt),
		BillingRef: after.BillingRef,
		Redacted:   append(redacted("name", before.Name, after.Name), redacted("email", before.Email, after.Email)...),
	}
}

func recordKey(before, after keys.Key) keyRecord {
	return keyRecord{
		after.ID, after.Environment, after.Last4, after.PerMinute, after.CreatedAt.UTC(), timeOrNil(after.ExpiresAt),
		timeOrNil(after.RevokedAt), redacted("name", before.Name, after.Name),
	}
}

func recordBan(before, after keys.Ban) banRecord {
	return banRecord{
		after.KeyID, after.Source, after.StartsAt.UTC(), after.EndsAt.UTC(), timeOrNil(after.LiftedAt),
		redacted("reason", before.Reason, after.Reason),
	}
}

// redacted returns the member's name if its value was set or changed.
func redacted(member, before, after string) []string {
	if before == after {
		return nil
	}
	return []string{member}
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
