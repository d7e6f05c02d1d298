package billing

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/store/pgconn"
	"petstore.example/internal/store/tenants"
	"petstore.example/internal/usage"
)

type periodRow struct {
	tenants.MonthColumns
	Admitted int64 `db:"admitted"`
}

func (r periodRow) use() usage.PeriodUse {
	return usage.PeriodUse{Month: r.InForce(), Admitted: r.Admitted}
}

// MonthPeriods returns the periods of the month that begins at month and that have begun at until, in
// the order in which overage is computed, with the usage that was recorded in time.
func (d Usage) MonthPeriods(ctx context.Context, tenantID int64, month, until time.Time) ([]usage.PeriodUse, error) {
	periods, err := pgconn.Collect(ctx, d.db, periodRow.use,
		`select per_month, overage, overage_value, admitted from month_periods($1, $2, $3, $4)`,
		tenantID, month, month.AddDate(0, 1, 0), until)
	if err != nil {
		return nil, fmt.Errorf("read the periods of a month: %w", err)
	}
	return periods, nil
}
