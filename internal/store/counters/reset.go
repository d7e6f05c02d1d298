package counters

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/store/pgconn"
)

// Windows is what a tenant's row says of its windows.
type Windows struct {
	// MinuteEnds and DayEnds are the first instants of the next ones.
	MinuteEnds, DayEnds time.Time
	// MinuteUsed is limits.Saturated in a minute of which nobody knows what was used.
	MinuteUsed, DayUsed int64
}

const (
	// beginTermQuery makes a term for the servers as they are. It skips a number: rows that were reset are of the one between, so that the
	// old term uses them no more and the new one begins with them.
	beginTermQuery = `
update cluster_term set number = number + 2, active = false, first = false where number > 0
returning number, sole <> '' as sole, clock_timestamp() as now, pg_notify('` + Channel + `', number::text) as notified`

	readWindowsQuery = `
select minute, minute_used, day, day_used from limit_states where tenant_id = $1 and scope = '' for update`

	forgetWindowsQuery = `delete from limit_states where tenant_id = $1`

	insertWindowsQuery = `
insert into limit_states (tenant_id, scope, term, redis, minute, minute_used, minute_unknown, day, day_used)
values ($1, '', $2, true, $3, $4, $4, $5, (
  select coalesce(sum(admitted), 0)::bigint from usage_hourly
  where tenant_id = $1 and hour >= to_timestamp($5::bigint * 86400) and hour < to_timestamp(($5::bigint + 1) * 86400)
))
returning minute, minute_used, day, day_used`
)

// Reset puts a tenant's windows to the present ones of Postgres's clock: the day with what is recorded, the minute saturated until the
// servers have recorded what they admitted in it. The keys' own minutes begin anew. Then it begins a term, so that all servers count
// from there. It returns the windows before, zero if the tenant had none, and after. inMemory says that the only server counts in its
// memory, which Reset does not reach.
//
// The term is locked first. So no server can use the tenant's row by the old term afterwards, and none by the new one before.
func Reset(ctx context.Context, tx pgconn.Tx, tenantID int64) (before, after Windows, inMemory bool, err error) {
	term, err := beginTerm(ctx, tx)
	if err != nil {
		return before, after, false, err
	}
	var rows []windowsRow
	if err := tx.Select(ctx, &rows, readWindowsQuery, tenantID); err != nil {
		return before, after, false, fmt.Errorf("read windows: %w", err)
	}
	if len(rows) > 0 {
		before = rows[0].windows(tenantID)
	}
	if _, err := tx.Exec(ctx, forgetWindowsQuery, tenantID); err != nil {
		return before, after, false, fmt.Errorf("forget windows: %w", err)
	}
	var row windowsRow
	if err := tx.Get(ctx, &row, insertWindowsQuery, tenantID, max(0, term.Number-1), limits.MinuteAt(tenantID, term.Now), limits.Saturated,
		limits.DayAt(term.Now)); err != nil {
		return before, after, false, fmt.Errorf("set windows: %w", err)
	}
	return before, row.windows(tenantID), term.Sole, nil
}

// begunTerm is a new term.
type begunTerm struct {
	Number   int64
	Sole     bool
	Now      time.Time
	Notified string
}

// beginTerm begins a term, unless there was none yet.
func beginTerm(ctx context.Context, tx pgconn.Tx) (begunTerm, error) {
	var terms []begunTerm
	if err := tx.Select(ctx, &terms, beginTermQuery); err != nil {
		return begunTerm{}, fmt.Errorf("begin term: %w", err)
	}
	if len(terms) > 0 {
		return terms[0], nil
	}
	var t begunTerm
	if err := tx.Get(ctx, &t.Now, `select clock_timestamp()`); err != nil {
		return t, fmt.Errorf("read the clock: %w", err)
	}
	return t, nil
}

type windowsRow struct {
	Minute     int64
	MinuteUsed int64 `db:"minute_used"`
	Day        int64
	DayUsed    int64 `db:"day_used"`
}

func (r windowsRow) windows(tenantID int64) Windows {
	return Windows{
		MinuteEnds: time.Unix(limits.MinuteReset(tenantID, r.Minute), 0).UTC(), DayEnds: time.Unix(limits.DayReset(r.Day), 0).UTC(),
		MinuteUsed: r.MinuteUsed, DayUsed: r.DayUsed,
	}
}
