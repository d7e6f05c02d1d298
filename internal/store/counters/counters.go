// Package counters stores the durable counters of the limits, and the term in which the servers
// decide by them. Postgres decides while Redis is down, and knows where Redis goes on counting when
// it comes back.
//
// The rules are in the domain: limits/counter's rows and cluster.Next. Here a rule runs in a
// transaction that has locked the rows it changes. Rows are locked in the order of tenant and
// scope.
package counters

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/store/pgconn"
)

// Store stores the durable counters of the limits: one row for each tenant, and one for each key
// with a limit of its own. Concurrent calls of Initialize and Grant share a transaction, because
// after a change of terms every tenant needs one of them.
type Store struct {
	db      *pgconn.DB
	waiting *waiting
}

// New returns the counters that the database holds.
func New(db *pgconn.DB) Store { return Store{db, &waiting{}} }

var _ counter.Store = Store{}

const (
	// lockLimitsQuery locks rows in the order of the arrays, and reads the term. The term may have
	// changed since the statement began, but each row knows the latest term that used it. A term
	// that was made before the database was set back is not active any more: rows may have lost
	// what was used in it. With "offset 0" Postgres asks for the database's name once, not for each
	// row. All is one statement, because a server that is paused in the middle must not block the
	// others for long.
	lockLimitsQuery = lockRows + lockedAndTerm
	// lockFreeLimitsQuery leaves out rows that others have locked.
	lockFreeLimitsQuery = lockRows + ` skip locked` + lockedAndTerm

	// The lateral query is one look-up by primary key for each row, in order.
	lockRows = `
with l as materialized (
  select r.* from unnest($1::bigint[], $2::text[]) n (tenant_id, scope), lateral (
    select tenant_id, scope, term, minute, minute_used, day, day_used, month, month_used from limit_states
      where tenant_id = n.tenant_id and scope = n.scope for update`
	lockedAndTerm = `
  ) r
)
select f.number, f.current as active, f.redis <> '' as by_redis, f.servers, clock_timestamp() as now,
  set_config('idle_in_transaction_session_timeout', '500', true) as timeout, l.*
from (select *, active and origin in ('', database_name()) as current from cluster_term offset 0) f left join l on true`

	// addLimitsQuery adds missing rows, in the order in which rows are locked.
	addLimitsQuery = `
insert into limit_states (tenant_id, scope)
select n.tenant_id, n.scope from unnest($1::bigint[], $2::text[]) n (tenant_id, scope)
join tenants t on t.id = n.tenant_id
order by n.tenant_id, n.scope
on conflict do nothing`

	saveLimitsQuery = `
update limit_states l set term = n.term, minute = n.minute, minute_used = n.minute_used, day = n.day, day_used =
	n.day_used, month = n.month, month_used = n.month_used
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::bigint[])
  n (tenant_id, scope, term, minute, minute_used, day, day_used, month, month_used)
where l.tenant_id = n.tenant_id and l.scope = n.scope`
)

// errNoLimits: a row is missing. It must be added outside of the transaction, because rows are
// locked in one order.
var errNoLimits = errors.New("no row of limits")

// Initialize implements counter.Store.
func (s Store) Initialize(ctx context.Context, o counter.InitRequest) (counter.Baseline, bool, error) {
	var base counter.Baseline
	var fresh bool
	err := s.change(
		ctx,
		newChange(&o.Claim, o.At, func(t counter.Term, g counter.Rows, r counter.Recorded) (_ counter.Rows, err error) {
			g, base, fresh, err = g.Initialized(t, o, r)
			return g, err
		}),
	)
	if err != nil {
		return counter.Baseline{}, false, fmt.Errorf("initialize limits: %w", err)
	}
	return base, fresh, nil
}

// Grant implements counter.Store.
func (s Store) Grant(ctx context.Context, p counter.GrantRequest) (counter.Grant, error) {
	var grant counter.Grant
	err := s.change(
		ctx,
		newChange(&p.Claim, p.At, func(t counter.Term, g counter.Rows, r counter.Recorded) (_ counter.Rows, err error) {
			g, grant, err = g.Granted(t, p, r)
			return g, err
		}),
	)
	if err != nil {
		return counter.Grant{}, fmt.Errorf("grant limits: %w", err)
	}
	return grant, nil
}

// rule is one of the methods of counter.Rows.
type rule func(counter.Term, counter.Rows, counter.Recorded) (counter.Rows, error)

// change is a rule to apply to the rows of one claim.
type change struct {
	claim  *limits.Claim
	at     time.Time
	tenant limitKey
	// key is the tenant's row if the claim's key has no limit of its own.
	key   limitKey
	apply rule
	// err is the rule's error. done is closed when the rule has been applied and committed, or the
	// change has failed.
	err  error
	done chan struct{}
}

func newChange(c *limits.Claim, at time.Time, apply rule) *change {
	tenant := limitKey{tenantID: c.TenantID}
	key := tenant
	if c.KeyPerMinute > 0 {
		key.scope = c.KeyID
	}
	return &change{claim: c, at: at, tenant: tenant, key: key, apply: apply, done: make(chan struct{})}
}

// commit makes changes in one transaction, as if one after the other. Each has an error of its own,
// unless all fail.
func (s Store) commit(ctx context.Context, changes []*change) error {
	tries := limitTries
	if len(changes) == 1 {
		tries = soleChangeTries
	}
	return s.withRows(ctx, tries, func(ctx context.Context, tx pgconn.Tx, leaveOut bool) ([]limitKey, error) {
		return makeChanges(ctx, tx, changes, leaveOut)
	})
}

// makeChanges makes the changes. If rows are missing it returns errNoLimits and their keys; with
// leaveOut, only the changes that need them fail. If there are several changes, rows that others
// have locked count as missing.
func makeChanges(ctx context.Context, tx pgconn.Tx, changes []*change, leaveOut bool) (missing []limitKey, err error) {
	keys := changedKeys(changes)
	query := lockLimitsQuery
	if len(changes) > 1 {
		query = lockFreeLimitsQuery
	}
	t, active, before, err := lockLimits(ctx, tx, query, keys)
	if err != nil {
		return nil, err
	}
	if missing = missingOf(keys, before); len(missing) > 0 && !leaveOut {
		return missing, errNoLimits
	}
	recorded, err := readRecorded(ctx, tx, t, changes, before)
	if err != nil {
		return nil, err
	}
	after := maps.Clone(before)
	for i, c := range changes {
		if c.err = counter.ErrTermOver; active {
			c.err = c.applyTo(after, t, recorded[i])
		}
	}
	return nil, saveChanged(ctx, tx, keys, before, after)
}

// applyTo applies the rule to the change's rows.
func (c *change) applyTo(rows map[limitKey]counter.Row, t counter.Term, r counter.Recorded) error {
	tenant, hasTenant := rows[c.tenant]
	key, hasKey := rows[c.key]
	if !hasTenant || !hasKey {
		return errNoLimits
	}
	g, err := c.apply(t, c.rows(tenant, key), r)
	if err != nil {
		return err
	}
	rows[c.tenant] = g.Tenant
	if c.key != c.tenant {
		rows[c.key] = g.Key
	}
	return nil
}

func (c *change) rows(tenant, key counter.Row) counter.Rows {
	if c.key == c.tenant {
		return counter.Rows{Tenant: tenant}
	}
	return counter.Rows{Tenant: tenant, Key: key}
}

// changedKeys returns the keys of the rows that the changes need, each once and in order.
func changedKeys(changes []*change) []limitKey {
	keys := make([]limitKey, 0, 2*len(changes))
	for _, c := range changes {
		keys = append(keys, c.tenant, c.key)
	}
	slices.SortFunc(keys, limitKey.compare)
	return slices.Compact(keys)
}

// lockLimits locks the rows that the query finds. active says whether the term is in force.
func lockLimits(ctx context.Context, tx pgconn.Tx, query string, keys []limitKey) (
	t counter.Term, active bool, found map[limitKey]counter.Row, err error,
) {
	var rows []struct {
		Number   int64
		Active   bool
		ByRedis  bool `db:"by_redis"`
		Servers  int
		Now      time.Time
		Timeout  string
		TenantID sql.NullInt64 `db:"tenant_id"`
		Scope    sql.NullString
		limitRow
	}
	ids, scopes := columns(keys)
	if err := tx.Select(ctx, &rows, query, ids, scopes); err != nil {
		return t, false, nil, err
	}
	found = make(map[limitKey]counter.Row, len(rows))
	for _, r := range rows {
		t = counter.Term{Number: r.Number, Redis: r.ByRedis, Servers: r.Servers, Now: r.Now}
		active = r.Active
		if r.Scope.Valid {
			found[limitKey{r.TenantID.Int64, r.Scope.String}] = r.row()
		}
	}
	return t, active, found, nil
}

// Prune removes at most limit rows of keys whose minute was over at the instant, and returns their
// number. Tenants' rows stay. Servers may prune at the same time.
func (s Store) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	if err := s.db.Get(ctx, &removed, `select prune_key_limits($1, $2)`, before.Unix()/60-1, limit); err != nil {
		return 0, fmt.Errorf("prune limits of keys: %w", err)
	}
	return removed, nil
}
