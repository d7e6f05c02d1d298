package counters

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/store/pgconn"
)

// marginQuery has the servers that ended silently in a month, and the tenant's highest limit per
// minute in it, as recordedQuery has them.
const marginQuery = `
select (select count(*) from (` + servers + `
  where s.acked is null or s.acked < (select number from cluster_term)) silent where until > $2) as silent,
  coalesce((select max(p.per_minute) from quota_periods p
    where p.tenant_id = $1 and p.valid_from < $3 and (p.valid_to is null or p.valid_to > $2)), 0) as per_minute`

// MonthMargin returns how many servers ended silently in the month that begins at month, and how
// many requests of the tenant count as used because they may have admitted them.
func MonthMargin(ctx context.Context, db *pgconn.DB, tenantID int64, month time.Time) (silent, sum int64, err error) {
	var row struct {
		Silent    int64
		PerMinute int64 `db:"per_minute"`
	}
	if err := db.Get(ctx, &row, marginQuery, tenantID, month, month.AddDate(0, 1, 0)); err != nil {
		return 0, 0, fmt.Errorf("read the servers that ended silently: %w", err)
	}
	return row.Silent, row.Silent * limits.Margin(row.PerMinute), nil
}
