package store

import (
	"context"
	"fmt"
	"time"

	"petstore.example/internal/store/pgconn"
)

// Checkup is what petstorectl doctor asks the database.
type Checkup struct {
	// Version is Postgres's, for example "15.8".
	Version string `db:"version"`
	// Role is the current role. OwnsTables: it may migrate. MayServe: it may act in the API's role.
	Role       string `db:"role"`
	OwnsTables bool   `db:"owns_tables"`
	MayServe   bool   `db:"may_serve"`
	// Now is the database's clock.
	Now time.Time `db:"now"`
}

// Checkup queries the database.
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
