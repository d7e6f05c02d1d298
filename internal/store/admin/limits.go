package operate

import (
	"context"
	"database/sql"

	"petstore.example/internal/audit"
	"petstore.example/internal/store/counters"
	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/store/trail"
)

// Limits stores what tenants have used of their limits.
type Limits struct{ db *pgconn.DB }

// LimitsReset is the result of a reset.
type LimitsReset struct {
	Tenant string
	// DayUsed is what is recorded of the day.
	DayUsed int64
	// InMemory says that the only server counts in its memory, which a reset does not reach.
	InMemory bool
}

// resetRecord is what an audit entry holds of a reset.
type resetRecord struct {
	DayUsed int64 `json:"day_used"`
}

// Reset begins a term in which the tenant's windows are the present ones of Postgres's clock, as
// counters.Reset does. Only the owner of the tables may. It returns plans.ErrTenantNotFound.
func (d Limits) Reset(ctx context.Context, by audit.By, tenant string) (done LimitsReset, err error) {
	defer pgconn.Wrap(&err, "reset limits")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		t, err := tenants.Lock(ctx, tx, tenant, sql.NullTime{})
		if err != nil {
			return err
		}
		dayUsed, inMemory, err := counters.Reset(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		done = LimitsReset{Tenant: t.Name, DayUsed: dayUsed, InMemory: inMemory}
		return trail.Write(tx, by, trail.Entry{
			Action: "limits.reset", TenantID: t.ID, Subject: audit.TenantSubject(t.ID), After: resetRecord{dayUsed},
		})
	})
	return done, err
}
