package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/plans"
)

var _ callers.Store = Keys{}

// callerQuery calls the function because the API may not read digests.
const callerQuery = `
select id, environment, expires_at, revoked, key_per_minute, tenant_id, tenant, suspended_at, created_at,
       assignment, version, plan, per_minute, per_day, valid_to,
       ban_id, ban_source, ban_reason, ban_starts_at, ban_ends_at
from find_caller($1, $2)`

type callerRow struct {
	ID          string           `db:"id"`
	Environment keys.Environment `db:"environment"`
	ExpiresAt   sql.NullTime     `db:"expires_at"`
	Revoked     bool             `db:"revoked"`
	OwnLimit    int64            `db:"key_per_minute"`
	TenantID    int64            `db:"tenant_id"`
	Tenant      string           `db:"tenant"`
	SuspendedAt sql.NullTime     `db:"suspended_at"`
	CreatedAt   time.Time        `db:"created_at"`
	Assignment  int64            `db:"assignment"`
	Version     int              `db:"version"`
	Plan        string           `db:"plan"`
	PerMinute   int64            `db:"per_minute"`
	PerDay      int64            `db:"per_day"`
	ValidTo     sql.NullTime     `db:"valid_to"`
	BanID       sql.NullInt64    `db:"ban_id"`
	BanSource   sql.NullString   `db:"ban_source"`
	BanReason   sql.NullString   `db:"ban_reason"`
	BanStartsAt sql.NullTime     `db:"ban_starts_at"`
	BanEndsAt   sql.NullTime     `db:"ban_ends_at"`
}

// Caller implements callers.Store.
func (d Keys) Caller(ctx context.Context, digest keys.Digest, now time.Time) (keys.Caller, error) {
	var rows []callerRow
	if err := d.db.Select(ctx, &rows, callerQuery, digest[:], now); err != nil {
		return keys.Caller{}, fmt.Errorf("look up caller: %w", err)
	}
	if len(rows) == 0 {
		return keys.Caller{}, fmt.Errorf("look up caller: %w", keys.ErrKeyNotFound)
	}
	// What follows what is in force is linked from the end.
	next := rows[len(rows)-1].tenant(nil)
	for i := len(rows) - 2; i >= 0; i-- {
		next = rows[i].tenant(next)
	}
	return rows[0].caller(next), nil
}

// tenant is the tenant in the row's period.
func (r callerRow) tenant(next *plans.Tenant) *plans.Tenant {
	return &plans.Tenant{
		ID: r.TenantID, Name: r.Tenant, Plan: r.Plan, Assignment: r.Assignment, Version: r.Version,
		Quota:       plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay},
		SuspendedAt: r.SuspendedAt.Time, CreatedAt: r.CreatedAt, Until: timeOf(r.ValidTo), Next: next,
	}
}

func (r callerRow) caller(t *plans.Tenant) keys.Caller {
	c := keys.Caller{
		KeyID:       r.ID,
		Environment: r.Environment,
		ExpiresAt:   r.ExpiresAt.Time,
		Revoked:     r.Revoked,
		PerMinute:   r.OwnLimit,
		Tenant:      t,
	}
	if r.BanID.Valid {
		c.Ban = &keys.Ban{
			ID: r.BanID.Int64, TenantID: r.TenantID, TenantName: r.Tenant, KeyID: r.ID,
			Source: keys.BanSource(r.BanSource.String), Reason: r.BanReason.String,
			StartsAt: r.BanStartsAt.Time, EndsAt: r.BanEndsAt.Time,
		}
	}
	return c
}
