package store

import (
	"context"
	"fmt"
	"time"
)

// serverForgotten is how long after its last sign of life a server's row is kept.
const serverForgotten = time.Hour

// Heartbeat says that the server is alive at the instant now, and forgets servers that were last seen long ago.
func (d *DB) Heartbeat(ctx context.Context, serverID string, now time.Time) error {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	// Skipping locked rows, servers that forget at the same moment do not wait for one another.
	_, err := d.db.ExecContext(ctx, `
		with forgotten as (
		  delete from servers where id in (
		    select id from servers where id <> $1 and seen_at < $3 for update skip locked
		  )
		)
		insert into servers (id, seen_at) values ($1, $2)
		on conflict (id) do update set seen_at = greatest(servers.seen_at, excluded.seen_at)`,
		serverID, now, now.Add(-serverForgotten))
	if err != nil {
		return fmt.Errorf("record heartbeat: %w", translate(err))
	}
	return nil
}

// LiveServers returns how many servers were seen within that time before now.
func (d *DB) LiveServers(ctx context.Context, now time.Time, within time.Duration) (int, error) {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	var n int
	err := d.db.GetContext(ctx, &n, `select count(*) from servers where seen_at > $1`, now.Add(-within))
	if err != nil {
		return 0, fmt.Errorf("count live servers: %w", translate(err))
	}
	return n, nil
}

// RemoveServer says that the server has stopped. One that is not there is no error.
func (d *DB) RemoveServer(ctx context.Context, serverID string) error {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	if _, err := d.db.ExecContext(ctx, `delete from servers where id = $1`, serverID); err != nil {
		return fmt.Errorf("remove server: %w", translate(err))
	}
	return nil
}
