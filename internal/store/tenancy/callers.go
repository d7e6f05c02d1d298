package tenancy

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
)

var _ callers.Store = Keys{}

// callersQuery calls the function because the API may not read digests.
const callersQuery = `
select place, id, environment, expires_at, revoked_at, key_per_minute, scope, allowed, tenant_id, tenant,
	suspended_at, created_at,
       assignment, version, plan, per_minute, per_day, valid_to, plan_per_minute, plan_per_day,
       ban_id, ban_source, ban_reason, ban_starts_at, ban_ends_at, presented,
       per_month, overage, overage_value, plan_per_month as "own.per_month", plan_overage as "own.overage",
       plan_overage_value as "own.overage_value"
from callers_of_keys($1, $2)
order by place, valid_from`

type callerRow struct {
	Place         int              `db:"place"`
	ID            string           `db:"id"`
	Environment   keys.Environment `db:"environment"`
	ExpiresAt     sql.NullTime     `db:"expires_at"`
	RevokedAt     sql.NullTime     `db:"revoked_at"`
	CustomerLimit int64            `db:"key_per_minute"`
	Scope         keys.Scope       `db:"scope"`
	Allowed       keys.Ranges      `db:"allowed"`
	TenantID      int64            `db:"tenant_id"`
	Tenant        string           `db:"tenant"`
	SuspendedAt   sql.NullTime     `db:"suspended_at"`
	CreatedAt     time.Time        `db:"created_at"`
	Assignment    int64            `db:"assignment"`
	Version       int              `db:"version"`
	Plan          string           `db:"plan"`
	PerMinute     int64            `db:"per_minute"`
	PerDay        int64            `db:"per_day"`
	ValidTo       sql.NullTime     `db:"valid_to"`
	PlanMinute    int64            `db:"plan_per_minute"`
	PlanDay       int64            `db:"plan_per_day"`
	BanID         sql.NullInt64    `db:"ban_id"`
	BanSource     sql.NullString   `db:"ban_source"`
	BanReason     sql.NullString   `db:"ban_reason"`
	BanStartsAt   sql.NullTime     `db:"ban_starts_at"`
	BanEndsAt     sql.NullTime     `db:"ban_ends_at"`
	Presented     bool             `db:"presented"`
	tenants.MonthColumns
	PlanMonth tenants.MonthColumns `db:"own"`
}

// Caller returns the caller whose key has the digest, or keys.ErrKeyNotFound.
func (d Keys) Caller(ctx context.Context, digest keys.Digest, now time.Time) (keys.Caller, error) {
	found, err := d.Callers(ctx, []keys.Digest{digest}, now)
	if err != nil {
		return keys.Caller{}, err
	}
	if found[0].Tenant == nil {
		return keys.Caller{}, fmt.Errorf("look up caller: %w", keys.ErrKeyNotFound)
	}
	return found[0], nil
}

// Callers implements callers.Store. Before it returns a key for the first time, it records that the
// key was presented. That shows that the key was not lost with the response that issued it.
func (d Keys) Callers(ctx context.Context, digests []keys.Digest, now time.Time) ([]keys.Caller, error) {
	wanted := make(pq.ByteaArray, len(digests))
	for i := range digests {
		wanted[i] = digests[i][:]
	}
	var rows []callerRow
	if err := d.db.Select(ctx, &rows, callersQuery, wanted, now); err != nil {
		return nil, fmt.Errorf("look up callers: %w", err)
	}
	found := make([]keys.Caller, len(digests))
	// Each state links to the next one, so begin with the last.
	var tenant *plans.Tenant
	var isNew []string
	for i := len(rows) - 1; i >= 0; i-- {
		tenant = rows[i].tenant(tenant)
		if first := i == 0 || rows[i-1].Place != rows[i].Place; first {
			c, err := rows[i].caller(tenant)
			if err != nil {
				return nil, fmt.Errorf("look up callers: key %s: %w", c.KeyID, err)
			}
			found[rows[i].Place-1], tenant = c, nil
			if !rows[i].Presented {
				isNew = append(isNew, c.KeyID)
			}
		}
	}
	if len(isNew) > 0 {
		if _, err := d.db.Exec(ctx, `select note_presented($1)`, pq.Array(isNew)); err != nil {
			return nil, fmt.Errorf("note new keys: %w", err)
		}
	}
	return found, nil
}

// tenant returns the tenant in the row's period.
func (r callerRow) tenant(next *plans.Tenant) *plans.Tenant {
	return &plans.Tenant{
		ID: r.TenantID, Name: r.Tenant, Plan: r.Plan, Assignment: r.Assignment, Version: r.Version,
		Quota:       plans.Quota{PerMinute: r.PerMinute, PerDay: r.PerDay, Month: r.InForce()},
		PlanQuota:   plans.Quota{PerMinute: r.PlanMinute, PerDay: r.PlanDay, Month: r.PlanMonth.InForce()},
		SuspendedAt: r.SuspendedAt.Time, CreatedAt: r.CreatedAt, Until: pgconn.TimeOf(r.ValidTo), Next: next,
	}
}

func (r callerRow) caller(t *plans.Tenant) (c keys.Caller, err error) {
	c = keys.Caller{
		KeyID:       r.ID,
		Environment: r.Environment,
		ExpiresAt:   r.ExpiresAt.Time,
		PerMinute:   r.CustomerLimit,
		Tenant:      t,
	}
	if r.RevokedAt.Valid {
		c.RevokedAt = r.RevokedAt.Time.Unix()
	}
	if r.BanID.Valid {
		c.Ban = &keys.Ban{
			ID: r.BanID.Int64, TenantID: r.TenantID, TenantName: r.Tenant, KeyID: r.ID,
			Source: keys.BanSource(r.BanSource.String), Reason: r.BanReason.String,
			StartsAt: r.BanStartsAt.Time, EndsAt: r.BanEndsAt.Time,
		}
	}
	c.Access, err = keys.NewAccess(r.Scope, r.Allowed)
	return c, err
}
