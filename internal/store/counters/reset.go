package counters

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/store/pgconn"
)

const (
	// beginTermQuery makes a term for the servers as they are, unless there was none yet.
	beginTermQuery = `
with begun as (
  update cluster_term set number = number + 1, active = false, first = false where number > 0 returning number, sole
)
select coalesce((select sole <> '' from begun), false) as sole, clock_timestamp() as now,
  (select pg_notify('` + Channel + `', number::text) from begun)::text as notified`

	recordedDayQuery = `
select coalesce(sum(admitted), 0)::bigint from usage_hourly
where tenant_id = $1 and hour >= to_timestamp($2::bigint * 86400) and hour < to_timestamp(($2::bigint + 1) * 86400)`
)

// Reset begins a term, in which every tenant's windows are the present ones of Postgres's clock,
// and count what is recorded. It returns what that is of the tenant's day. inMemory says that the
// only server counts in its memory, which Reset does not reach.
func Reset(ctx context.Context, tx pgconn.Tx, tenantID int64) (dayUsed int64, inMemory bool, err error) {
	var term struct {
		Sole     bool
		Now      time.Time
		Notified *string
	}
	if err := tx.Get(ctx, &term, beginTermQuery); err != nil {
		return 0, false, fmt.Errorf("begin term: %w", err)
	}
	if err := tx.Get(ctx, &dayUsed, recordedDayQuery, tenantID, limits.DayAt(term.Now)); err != nil {
		return 0, false, fmt.Errorf("read what is recorded: %w", err)
	}
	return dayUsed, term.Sole, nil
}
