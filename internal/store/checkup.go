package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/store/pgconn"

	"petstore.example/internal/cluster"
)

// Checkup is what the database says of itself.
type Checkup struct {
	// Version is Postgres's, for example "15.8".
	Version string `db:"version"`
	// Role is who asks. OwnsTables tells whether it may migrate, MayServe whether it may act in the API's role.
	Role       string `db:"role"`
	OwnsTables bool   `db:"owns_tables"`
	MayServe   bool   `db:"may_serve"`
	// Now is the database's clock, as it was between the calls.
	Now time.Time `db:"now"`
}

// Checkup asks the database.
func (d *DB) Checkup(ctx context.Context) (c Checkup, err error) {
	err = d.pg.Get(ctx, &c, `
		select split_part(current_setting('server_version'), ' ', 1) as version, current_user as role,
		       not exists (
		         select from pg_tables where schemaname = current_schema() and not pg_has_role(current_user, tableowner, 'member')
		       ) as owns_tables,
		       coalesce((select pg_has_role(current_user, oid, 'member') from pg_roles where rolname = $1), false) as may_serve,
		       clock_timestamp() as now`, pgconn.APIRole)
	if err != nil {
		return Checkup{}, fmt.Errorf("check up: %w", err)
	}
	return c, nil
}

// State reads what the servers have agreed on, and the servers with when each was last heard of.
func (d Cluster) State(ctx context.Context) (s cluster.State, err error) {
	var row struct {
		Number  int64        `db:"number"`
		Active  bool         `db:"active"`
		Redis   string       `db:"redis"`
		Alone   string       `db:"alone"`
		Closed  sql.NullTime `db:"closed"`
		Servers int          `db:"servers"`
	}
	if err := d.db.Get(ctx, &row, `select number, active, redis, alone, closed, servers from fleet`); err != nil {
		return s, fmt.Errorf("read cluster: %w", err)
	}
	s.Term = cluster.Term{
		Number: row.Number, Redis: row.Redis, Sole: row.Alone, UncleanUntil: timeOf(row.Closed), Servers: row.Servers,
	}
	s.Active = row.Active
	var servers []struct {
		ID    string    `db:"id"`
		Seen  time.Time `db:"seen_at"`
		Redis string    `db:"redis"`
		Acked int64     `db:"acked"`
	}
	if err := d.db.Select(ctx, &servers, `select id, seen_at, redis, acked from servers order by id`); err != nil {
		return s, fmt.Errorf("list servers: %w", err)
	}
	for _, r := range servers {
		s.Servers = append(s.Servers, cluster.Server{ID: r.ID, Seen: r.Seen.UTC(), Redis: r.Redis, Acked: r.Acked})
	}
	return s, nil
}
