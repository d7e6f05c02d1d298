// Package counters stores the durable counters of the limits, and the term in which the servers decide over them. Postgres decides
// while Redis is down, and knows from where Redis counts when it comes back.
//
// The rules are in the domain: limits' counter rows and cluster.Next. Here a rule runs in a transaction that has locked the rows
// it changes. Rows are locked in the order of tenant and scope.
package counters

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/store/pgconn"
)

// Store stores the durable counters of the limits, one row for each tenant and one for each key with a limit of its own.
type Store struct{ db *pgconn.DB }

// New returns the counters that the database holds.
func New(db *pgconn.DB) Store { return Store{db} }

var _ counter.Store = Store{}

const (
	// lockLimitsQuery locks a tenant's row and then a key's, and reads the term. The term may have changed since the statement
	// began, but each row knows the latest term that used it. A server that is paused in the middle must not block the others
	// for long.
	lockLimitsQuery = `
with l as (
  select scope, term, redis, accounted, minute, minute_used, day, day_used
  from limit_states where tenant_id = $1 and scope in ('', $2)
  order by scope for update
)
select f.number, f.active, f.redis <> '' as by_redis, f.unclean_until, f.servers,
  set_config('idle_in_transaction_session_timeout', '500', true) as timeout, l.*
from cluster_term f left join l on true`

	// recordedQuery reads the recorded usage of a day, and the highest limit that the tenant had on it.
	recordedQuery = `
select
  coalesce((
    select sum(admitted)::bigint from usage_hourly where tenant_id = $1 and hour >= $2 and hour < $3
  ), 0) as used,
  coalesce((
    select max(per_minute) from tenant_plans
    where tenant_id = $1 and valid_from < $3 and (valid_to is null or valid_to > $2)
  ), 0) as per_minute`

	// addLimitsQuery adds missing rows, in the order in which rows are locked.
	addLimitsQuery = `
insert into limit_states (tenant_id, scope)
select n.tenant_id, n.scope from unnest($1::bigint[], $2::text[]) n (tenant_id, scope)
join tenants t on t.id = n.tenant_id
order by n.tenant_id, n.scope
on conflict do nothing`

	saveLimitsQuery = `
update limit_states l set term = n.term, redis = n.redis, accounted = n.accounted,
  minute = n.minute, minute_used = n.minute_used, day = n.day, day_used = n.day_used
from unnest($1::bigint[], $2::text[], $3::bigint[], $4::boolean[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
  n (tenant_id, scope, term, redis, accounted, minute, minute_used, day, day_used)
where l.tenant_id = n.tenant_id and l.scope = n.scope`
)

// errNoLimits: a row is missing. It must be added outside of the transaction, because rows are locked in one order.
var errNoLimits = errors.New("no row of limits")

// limitTries is how often missing rows are added: the rows of keys can be pruned before they are locked.
const limitTries = 3

// Initialize implements counter.Store.
func (s Store) Initialize(ctx context.Context, o counter.InitRequest) (base counter.Baseline, fresh bool, err error) {
	err = s.changeCounters(ctx, &o.Claim, o.Term, o.At, func(t counter.Term, g counter.Rows, r counter.Recorded) (counter.Rows, error) {
		g, base, fresh, err = g.Initialized(t, o, r)
		return g, err
	})
	if err != nil {
		return counter.Baseline{}, false, fmt.Errorf("open limits: %w", err)
	}
	return base, fresh, nil
}

// Grant implements counter.Store.
func (s Store) Grant(ctx context.Context, p counter.GrantRequest) (grant counter.Grant, err error) {
	err = s.changeCounters(ctx, &p.Claim, p.Term, p.At, func(t counter.Term, g counter.Rows, r counter.Recorded) (counter.Rows, error) {
		g, grant, err = g.Granted(t, p, r)
		return g, err
	})
	if err != nil {
		return counter.Grant{}, fmt.Errorf("take grant of limits: %w", err)
	}
	return grant, nil
}

// rule is one of the methods of counter.Rows.
type rule func(counter.Term, counter.Rows, counter.Recorded) (counter.Rows, error)

// changeCounters applies the rule to the rows of a claim.
func (s Store) changeCounters(ctx context.Context, c *limits.Claim, term int64, at time.Time, do rule) error {
	key := ""
	if c.KeyPerMinute > 0 {
		key = c.KeyID
	}
	for tries := 1; ; tries++ {
		err := s.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
			return changeLimits(ctx, tx, c.TenantID, key, term, at, do)
		})
		if tries == limitTries || !errors.Is(err, errNoLimits) {
			return err
		}
		if err := s.addLimits(ctx, c.TenantID, key); err != nil {
			return err
		}
	}
}

func changeLimits(ctx context.Context, tx pgconn.Tx, tenantID int64, key string, term int64, at time.Time, do rule) error {
	t, before, err := lockLimits(ctx, tx, tenantID, key)
	if err != nil {
		return err
	}
	var recorded counter.Recorded
	if before.NeedsRecorded(term) {
		from := time.Unix(0, 0).UTC().AddDate(0, 0, int(limits.DayAt(at)))
		row := struct {
			Used      int64
			PerMinute int64 `db:"per_minute"`
		}{}
		if err := tx.Get(ctx, &row, recordedQuery, tenantID, from, from.AddDate(0, 0, 1)); err != nil {
			return err
		}
		recorded = counter.Recorded{Used: row.Used, PerMinute: row.PerMinute}
	}
	after, err := do(t, before, recorded)
	if err != nil {
		return err
	}
	var changed limitRows
	if after.Tenant != before.Tenant {
		changed.add(limitKey{tenantID, ""}, after.Tenant)
	}
	if key != "" && after.Key != before.Key {
		changed.add(limitKey{tenantID, key}, after.Key)
	}
	return changed.save(ctx, tx)
}

// lockLimits returns errNoLimits when a row is not there, and counter.ErrTermOver when no term is in force.
func lockLimits(ctx context.Context, tx pgconn.Tx, tenantID int64, key string) (t counter.Term, g counter.Rows, err error) {
	var rows []struct {
		Number       int64
		Active       bool
		ByRedis      bool         `db:"by_redis"`
		UncleanUntil sql.NullTime `db:"unclean_until"`
		Servers      int
		Timeout      string
		Scope        sql.NullString
		limitRow
	}
	if err := tx.Select(ctx, &rows, lockLimitsQuery, tenantID, key); err != nil {
		return t, g, err
	}
	want := 1
	if key != "" {
		want = 2
	}
	if len(rows) < want || !rows[0].Scope.Valid {
		return t, g, errNoLimits
	}
	first := rows[0]
	if !first.Active {
		return t, g, counter.ErrTermOver
	}
	t = counter.Term{Number: first.Number, Redis: first.ByRedis, Servers: first.Servers}
	if first.UncleanUntil.Valid {
		t.UncleanUntil = first.UncleanUntil.Time.UTC()
	}
	g.Tenant = first.row()
	if key != "" {
		g.Key = rows[1].row()
	}
	return t, g, nil
}

func (s Store) addLimits(ctx context.Context, tenantID int64, key string) error {
	scopes := []string{""}
	if key != "" {
		scopes = append(scopes, key)
	}
	ids := make([]int64, len(scopes))
	for i := range ids {
		ids[i] = tenantID
	}
	if _, err := s.db.Exec(ctx, addLimitsQuery, pq.Array(ids), pq.Array(scopes)); err != nil {
		return fmt.Errorf("add limits: %w", err)
	}
	return nil
}
