package counters

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq"

	"petstore.example/internal/limits/counter"
	"petstore.example/internal/store/pgconn"
)

// limitKey names a row of limit_states: scope is a key's id, or "" for the tenant itself.
type limitKey struct {
	tenantID int64
	scope    string
}

func (k limitKey) compare(other limitKey) int {
	return cmp.Or(cmp.Compare(k.tenantID, other.tenantID), cmp.Compare(k.scope, other.scope))
}

// columns returns keys as arguments of a query.
func columns(keys []limitKey) (ids, scopes any) {
	tenantIDs, keyIDs := make([]int64, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		tenantIDs[i], keyIDs[i] = k.tenantID, k.scope
	}
	return pq.Array(tenantIDs), pq.Array(keyIDs)
}

// limitRow is a row of limit_states. Its fields are null if the row does not exist.
type limitRow struct {
	Term       sql.NullInt64
	Minute     sql.NullInt64
	MinuteUsed sql.NullInt64 `db:"minute_used"`
	Day        sql.NullInt64
	DayUsed    sql.NullInt64 `db:"day_used"`
	Month      sql.NullInt64
	MonthUsed  sql.NullInt64 `db:"month_used"`
}

func (r limitRow) row() counter.Row {
	return counter.Row{
		Term:       r.Term.Int64,
		Minute:     r.Minute.Int64,
		MinuteUsed: r.MinuteUsed.Int64,
		Day:        r.Day.Int64,
		DayUsed:    r.DayUsed.Int64,
		Month:      r.Month.Int64,
		MonthUsed:  r.MonthUsed.Int64,
	}
}

// limitRows are rows to write, column by column.
type limitRows struct {
	ids                                       []int64
	scopes                                    []string
	terms, minutes, minuteUsed, days, dayUsed []int64
	months, monthUsed                         []int64
}

func (l *limitRows) add(k limitKey, r counter.Row) {
	l.ids, l.scopes = append(l.ids, k.tenantID), append(l.scopes, k.scope)
	l.terms = append(l.terms, r.Term)
	l.minutes, l.minuteUsed = append(l.minutes, r.Minute), append(l.minuteUsed, r.MinuteUsed)
	l.days, l.dayUsed = append(l.days, r.Day), append(l.dayUsed, r.DayUsed)
	l.months, l.monthUsed = append(l.months, r.Month), append(l.monthUsed, r.MonthUsed)
}

const (
	// limitTries is how many attempts are made to lock rows. Missing rows are added between
	// attempts, and a key's new row can be pruned before it is locked.
	limitTries = 3
	// soleChangeTries replaces limitTries for a change that is alone in its transaction. If all
	// attempts fail, so does the change. There are more, because several servers may prune, batch
	// after batch.
	soleChangeTries = 20
)

// withRows runs f in a transaction. If f returns errNoLimits and missing rows, withRows adds them
// and runs f again. In the last run, f must leave out the changes that need missing rows.
func (s Store) withRows(
	ctx context.Context,
	most int,
	f func(ctx context.Context, tx pgconn.Tx, leaveOut bool) (missing []limitKey, err error),
) error {
	for tries := 1; ; tries++ {
		var missing []limitKey
		err := s.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) (err error) {
			missing, err = f(ctx, tx, tries == most)
			return err
		})
		if !errors.Is(err, errNoLimits) {
			return err
		}
		if err := s.addLimits(ctx, missing); err != nil {
			return err
		}
	}
}

func (s Store) addLimits(ctx context.Context, missing []limitKey) error {
	ids, scopes := columns(missing)
	if _, err := s.db.Exec(ctx, addLimitsQuery, ids, scopes); err != nil {
		return fmt.Errorf("add limits: %w", err)
	}
	return nil
}

// missingOf returns the keys without a row.
func missingOf(keys []limitKey, rows map[limitKey]counter.Row) (missing []limitKey) {
	for _, k := range keys {
		if _, ok := rows[k]; !ok {
			missing = append(missing, k)
		}
	}
	return missing
}

// saveChanged writes the rows that have changed. The transaction has locked all of them.
func saveChanged(ctx context.Context, tx pgconn.Tx, keys []limitKey, before, after map[limitKey]counter.Row) error {
	var changed limitRows
	for _, k := range keys {
		if after[k] != before[k] {
			changed.add(k, after[k])
		}
	}
	return changed.save(ctx, tx)
}

// save writes the rows, which the transaction has locked.
func (l *limitRows) save(ctx context.Context, tx pgconn.Tx) error {
	if len(l.ids) == 0 {
		return nil
	}
	n, err := tx.Exec(ctx, saveLimitsQuery, pq.Array(l.ids), pq.Array(l.scopes), pq.Array(l.terms),
		pq.Array(l.minutes), pq.Array(l.minuteUsed), pq.Array(l.days), pq.Array(l.dayUsed),
		pq.Array(l.months), pq.Array(l.monthUsed))
	if err != nil {
		return err
	}
	if n != len(l.ids) {
		return fmt.Errorf("%d of %d rows of limits written", n, len(l.ids))
	}
	return nil
}
