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

// columns returns keys as a query takes them.
func columns(keys []limitKey) (ids, scopes any) {
	tenantIDs, keyIDs := make([]int64, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		tenantIDs[i], keyIDs[i] = k.tenantID, k.scope
	}
	return pq.Array(tenantIDs), pq.Array(keyIDs)
}

// limitRow is what a row of limit_states says. Its fields are null where there is no row.
type limitRow struct {
	Term       sql.NullInt64
	Minute     sql.NullInt64
	MinuteUsed sql.NullInt64 `db:"minute_used"`
	Day        sql.NullInt64
	DayUsed    sql.NullInt64 `db:"day_used"`
}

func (r limitRow) row() counter.Row {
	return counter.Row{
		Term:       r.Term.Int64,
		Minute:     r.Minute.Int64,
		MinuteUsed: r.MinuteUsed.Int64,
		Day:        r.Day.Int64,
		DayUsed:    r.DayUsed.Int64,
	}
}

// limitRows are rows to write, column by column.
type limitRows struct {
	ids                                       []int64
	scopes                                    []string
	terms, minutes, minuteUsed, days, dayUsed []int64
}

func (l *limitRows) add(k limitKey, r counter.Row) {
	l.ids, l.scopes = append(l.ids, k.tenantID), append(l.scopes, k.scope)
	l.terms = append(l.terms, r.Term)
	l.minutes, l.minuteUsed = append(l.minutes, r.Minute), append(l.minuteUsed, r.MinuteUsed)
	l.days, l.dayUsed = append(l.days, r.Day), append(l.dayUsed, r.DayUsed)
}

const (
	// limitTries is how often rows are locked, and added in between if they are missing: a key's
	// row that nobody has used yet can be pruned before it is locked.
	limitTries = 3
	// soleChangeTries is the same for a change alone. It fails after the last one, and several
	// servers may prune, batch after batch.
	soleChangeTries = 20
)

// withRows runs f in a transaction. If f returns errNoLimits, the missing rows that it returns too
// are added, and it runs again; the last time it is to leave out what needs them.
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

// missingOf returns the keys of the rows that are not there.
func missingOf(keys []limitKey, rows map[limitKey]counter.Row) (missing []limitKey) {
	for _, k := range keys {
		if _, ok := rows[k]; !ok {
			missing = append(missing, k)
		}
	}
	return missing
}

// saveChanged writes those of the rows that have changed, all of which the transaction has locked.
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
		pq.Array(l.minutes), pq.Array(l.minuteUsed), pq.Array(l.days), pq.Array(l.dayUsed))
	if err != nil {
		return err
	}
	if n != len(l.ids) {
		return fmt.Errorf("%d of %d rows of limits written", n, len(l.ids))
	}
	return nil
}
