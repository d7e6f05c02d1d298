package store

import (
	"context"
	"fmt"
	"time"
)

// Checkup is what petstorectl doctor asks the database.
type Checkup struct {
	// Version is Postgres's, for example "15.8".
	Version string
	// Role is the current role.
	Role Login
	// Now is the database's clock.
	Now time.Time
}

// Checkup queries the database.
func (d *DB) Checkup(ctx context.Context) (Checkup, error) {
	var row struct {
		Login
		Version string
		Now     time.Time
	}
	err := d.pg.Get(ctx, &row, `
		select split_part(current_setting('server_version'), ' ', 1) as version, clock_timestamp() as now, l.*
		from (`+selectLogin+`) l where l.name = current_user`)
	if err != nil {
		return Checkup{}, fmt.Errorf("check up: %w", err)
	}
	return Checkup{row.Version, row.Login, row.Now}, nil
}
