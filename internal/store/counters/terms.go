package counters

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"petstore.example/internal/cluster"
	"petstore.example/internal/store/pgconn"
)

// Channel is on which Postgres announces each new term.
const Channel = "petstore_cluster"

// Terms stores the servers that are alive and the term that they share.
type Terms struct{ db *pgconn.DB }

var _ cluster.Store = Terms{}

// NewTerms returns the terms that the database holds.
func NewTerms(db *pgconn.DB) Terms { return Terms{db} }

const (
	readClusterQuery = `
select number, active, redis, sole, unclean_until, servers from cluster_term`

	// lockClusterQuery is a statement of its own, so that what is read after it is up to date. A server that is paused in the
	// middle must not block the others until their leases end.
	lockClusterQuery = `
select number, active, redis, sole, unclean_until, servers, set_config('idle_in_transaction_session_timeout', '300', true)
from cluster_term for update`

	listServersQuery = `
select s.id, s.seen_at, s.redis, s.acked, (select clock_timestamp()) as now
from cluster_term left join servers s on true`

	// saveServerQuery also sets whether the transaction may be lost in a crash: a renewal soon after another may, a change of
	// the term may not.
	saveServerQuery = `
insert into servers (id, seen_at, redis, acked) values ($1, $2, $3, $4)
on conflict (id) do update set seen_at = excluded.seen_at, redis = excluded.redis, acked = excluded.acked
returning case when $5 then set_config('synchronous_commit', 'off', true) end`

	forgetServerQuery = `delete from servers where id = $1`

	saveTermQuery = `
update cluster_term set number = $1, active = $2, redis = $3, sole = $4, unclean_until = $5, servers = $6
returning pg_notify('` + Channel + `', number::text)`
)

// Renew implements cluster.Store. Its clock is that of Postgres, read while it holds the lock.
func (t Terms) Renew(ctx context.Context, hb cluster.Heartbeat) (next cluster.State, err error) {
	err = t.db.Tx(ctx, func(ctx context.Context, tx pgconn.Tx) error {
		before, now, err := readCluster(ctx, tx, lockClusterQuery)
		if err != nil {
			return err
		}
		next = cluster.Next(before, hb, now)
		return saveCluster(ctx, tx, before, next)
	})
	if err != nil {
		return cluster.State{}, fmt.Errorf("renew server: %w", err)
	}
	return next, nil
}

// Leave implements cluster.Store.
func (t Terms) Leave(ctx context.Context, serverID string) error {
	if _, err := t.db.Exec(ctx, forgetServerQuery, serverID); err != nil {
		return fmt.Errorf("forget server: %w", err)
	}
	return nil
}

// State reads the term, and the servers with when each last renewed its lease.
func (t Terms) State(ctx context.Context) (cluster.State, error) {
	s, _, err := readCluster(ctx, t.db, readClusterQuery)
	return s, err
}

// Now reads the store's clock.
func (t Terms) Now(ctx context.Context) (now time.Time, err error) {
	if err := t.db.Get(ctx, &now, `select clock_timestamp()`); err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", err)
	}
	return now, nil
}

type clusterRow struct {
	Number       int64
	Active       bool
	Redis        string
	Sole         string
	UncleanUntil sql.NullTime `db:"unclean_until"`
	Servers      int
	Timeout      string `db:"set_config"`
}

type serverRow struct {
	ID    sql.NullString
	Seen  sql.NullTime `db:"seen_at"`
	Redis sql.NullString
	Acked sql.NullInt64
	Now   time.Time
}

func readCluster(ctx context.Context, q pgconn.Queryer, query string) (s cluster.State, now time.Time, err error) {
	var row clusterRow
	if err := q.Get(ctx, &row, query); err != nil {
		return s, now, fmt.Errorf("read the term: %w", err)
	}
	s.Term = cluster.Term{Number: row.Number, Redis: row.Redis, Sole: row.Sole, Servers: row.Servers}
	if row.UncleanUntil.Valid {
		s.Term.UncleanUntil = row.UncleanUntil.Time.UTC()
	}
	s.Active = row.Active
	var servers []serverRow
	if err := q.Select(ctx, &servers, listServersQuery); err != nil {
		return s, now, fmt.Errorf("list servers: %w", err)
	}
	for _, r := range servers {
		now = r.Now.UTC()
		if r.ID.Valid {
			s.Servers = append(s.Servers, cluster.Server{ID: r.ID.String, Seen: r.Seen.Time.UTC(), Redis: r.Redis.String, Acked: r.Acked.Int64})
		}
	}
	s.Now = now
	slices.SortFunc(s.Servers, cluster.ByID)
	return s, now, nil
}

// wellKnown reports whether the servers that renewed had also renewed shortly before. If Postgres then loses the last renewal
// in a crash, the others still wait until the servers' leases end.
func wellKnown(before, next cluster.State) bool {
	for _, e := range next.Servers {
		i, ok := slices.BinarySearchFunc(before.Servers, e, cluster.ByID)
		if !ok || e.Seen.Sub(before.Servers[i].Seen) > cluster.RenewLate {
			return false
		}
	}
	return true
}

// saveCluster writes what has changed.
func saveCluster(ctx context.Context, tx pgconn.Tx, before, next cluster.State) error {
	agreed, known := next.Term != before.Term || next.Active != before.Active, wellKnown(before, next)
	for _, e := range before.Servers {
		if _, stays := slices.BinarySearchFunc(next.Servers, e, cluster.ByID); stays {
			continue
		}
		if _, err := tx.Exec(ctx, forgetServerQuery, e.ID); err != nil {
			return fmt.Errorf("forget server: %w", err)
		}
	}
	for _, e := range next.Servers {
		if slices.Contains(before.Servers, e) {
			continue
		}
		if _, err := tx.Exec(ctx, saveServerQuery, e.ID, e.Seen, e.Redis, e.Acked, !agreed && known); err != nil {
			return fmt.Errorf("save server: %w", err)
		}
	}
	if !agreed {
		return nil
	}
	t := next.Term
	uncleanUntil := sql.NullTime{Time: t.UncleanUntil, Valid: !t.UncleanUntil.IsZero()}
	if _, err := tx.Exec(ctx, saveTermQuery, t.Number, next.Active, t.Redis, t.Sole, uncleanUntil, t.Servers); err != nil {
		return fmt.Errorf("save term: %w", err)
	}
	return nil
}
