package admin

import (
	"context"
	"database/sql"
	"time"

	"petstore.example/internal/audit"
	"petstore.example/internal/plans"
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
	// DayUsed is the recorded usage of the day.
	DayUsed int64
	// MonthUsed is what is recorded in the tenant's month, nil if it has none.
	MonthUsed *int64
	// InMemory says that the only server counts in its memory, which a reset does not reach.
	InMemory bool
}

// resetRecord is what an audit entry holds of a reset.
type resetRecord struct {
	DayUsed   int64  `json:"day_used"`
	MonthUsed *int64 `json:"month_used,omitempty"`
}

// Reset begins a term in which the tenant's windows are the current ones by Postgres's clock, as
// counters.Reset does. Only the owner of the tables may do this. It returns
// plans.ErrTenantNotFound.
func (d Limits) Reset(ctx context.Context, by audit.By, tenant string) (done LimitsReset, err error) {
	defer pgconn.Wrap(&err, "reset limits")
	err = trail.Change(ctx, d.db, by, func(ctx context.Context, tx pgconn.Tx) error {
		t, err := tenants.Lock(ctx, tx, tenant, sql.NullTime{})
		if err != nil {
			return err
		}
		dayUsed, monthUsed, inMemory, err := counters.Reset(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		done = LimitsReset{Tenant: t.Name, DayUsed: dayUsed, InMemory: inMemory}
		if t.Quota.Month.Kind == plans.SomeMonth {
			done.MonthUsed = &monthUsed
		}
		return trail.Write(tx, by, trail.Entry{
			Action: "limits.reset", TenantID: t.ID, Subject: audit.TenantSubject(t.ID),
			After: resetRecord{dayUsed, done.MonthUsed},
		})
	})
	return done, err
}

// MonthMargin returns how many servers ended silently in the month that begins at month, and how
// many requests of the tenant count as used because of them.
func (d Limits) MonthMargin(ctx context.Context, tenantID int64, month time.Time) (silent, sum int64, err error) {
	return counters.MonthMargin(ctx, d.db, tenantID, month)
}
