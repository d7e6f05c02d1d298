package counters

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"petstore.example/internal/limits/counter"
	"petstore.example/internal/store/pgconn"
)

const (
	// reportsAtOnce bounds how long the rows of one transaction stay locked.
	reportsAtOnce = 1000
	// reportsUnderWay is how many transactions a server makes at the same time: no request is decided until all are over.
	reportsUnderWay = 4
)

// lockReportedQuery is lockLimitsQuery without the term.
const lockReportedQuery = lockRows + `
  ) r
)
select l.*, set_config('idle_in_transaction_session_timeout', '500', true) as timeout, clock_timestamp() as now from l`

// Report implements counter.Store. A thousand reports are one transaction. Reports of deleted tenants are left out.
func (s Store) Report(ctx context.Context, reports []counter.Report) error {
	sorted := slices.SortedFunc(slices.Values(reports), func(a, b counter.Report) int {
		return cmp.Or(cmp.Compare(a.TenantID, b.TenantID), cmp.Compare(a.KeyID, b.KeyID))
	})
	chunks := slices.Collect(slices.Chunk(sorted, reportsAtOnce))
	// All servers report the same tenants at the same time: each begins with others.
	first := rand.N(len(chunks) + 1) //nolint:gosec // Only to keep servers apart.
	var transactions errgroup.Group
	transactions.SetLimit(reportsUnderWay)
	for _, some := range slices.Concat(chunks[first:], chunks[:first]) {
		transactions.Go(func() error { return s.reportSome(ctx, some) })
	}
	if err := transactions.Wait(); err != nil {
		return fmt.Errorf("report limits: %w", err)
	}
	return nil
}

// reportSome makes sorted reports in one transaction.
func (s Store) reportSome(ctx context.Context, reports []counter.Report) error {
	return s.withRows(ctx, limitTries, func(ctx context.Context, tx pgconn.Tx, leaveOut bool) ([]limitKey, error) {
		return report(ctx, tx, reports, leaveOut)
	})
}

// report returns errNoLimits and the missing rows if any is missing, unless missing rows are to be left out.
func report(ctx context.Context, tx pgconn.Tx, reports []counter.Report, leaveOut bool) (missing []limitKey, err error) {
	keys := reportedKeys(reports)
	before, now, err := lockReported(ctx, tx, keys)
	if err != nil {
		return nil, err
	}
	if missing = missingOf(keys, before); len(missing) > 0 && !leaveOut {
		return missing, errNoLimits
	}
	after := maps.Clone(before)
	for _, r := range reports {
		tenant, key := limitKey{r.TenantID, ""}, limitKey{r.TenantID, r.KeyID}
		if _, ok := before[tenant]; !ok {
			continue
		}
		g := counter.Rows{Tenant: after[tenant]}
		if r.KeyID != "" {
			g.Key = after[key]
		}
		g = g.Reported(r.Begun(now))
		after[tenant] = g.Tenant
		if _, ok := before[key]; ok && r.KeyID != "" {
			after[key] = g.Key
		}
	}
	return nil, saveChanged(ctx, tx, keys, before, after)
}

// reportedKeys returns the keys of the rows that the sorted reports change, each once and in order.
func reportedKeys(reports []counter.Report) []limitKey {
	keys := make([]limitKey, 0, len(reports))
	for i, r := range reports {
		if i == 0 || r.TenantID != reports[i-1].TenantID {
			keys = append(keys, limitKey{r.TenantID, ""})
		}
		if own := (limitKey{r.TenantID, r.KeyID}); keys[len(keys)-1] != own {
			keys = append(keys, own)
		}
	}
	return keys
}

// lockReported locks the rows that are there, and returns them and the time of the clock.
func lockReported(ctx context.Context, tx pgconn.Tx, keys []limitKey) (found map[limitKey]counter.Row, now time.Time, err error) {
	ids, scopes := columns(keys)
	var rows []struct {
		TenantID int64 `db:"tenant_id"`
		Scope    string
		Timeout  string
		Now      time.Time
		limitRow
	}
	if err := tx.Select(ctx, &rows, lockReportedQuery, ids, scopes); err != nil {
		return nil, now, err
	}
	found = make(map[limitKey]counter.Row, len(rows))
	for _, r := range rows {
		found[limitKey{r.TenantID, r.Scope}] = r.row()
		now = r.Now
	}
	return found, now, nil
}

// Prune removes at most limit rows of keys whose minute was over at the instant, and returns how many. Tenants' rows stay.
// Servers may prune at the same time.
func (s Store) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	if err := s.db.Get(ctx, &removed, `select prune_key_limits($1, $2)`, before.Unix()/60-1, limit); err != nil {
		return 0, fmt.Errorf("prune limits of keys: %w", err)
	}
	return removed, nil
}
