package counters

import (
	"context"
	"fmt"
	"time"
)

// maxAhead is the largest difference that a row can hold: 285 years.
const maxAhead = 9_000_000_000_000 * time.Millisecond

// Now reads the clock of Postgres.
func (t Terms) Now(ctx context.Context) (now time.Time, err error) {
	if err := t.db.Get(ctx, &now, `select clock_timestamp()`); err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", err)
	}
	return now, nil
}

// SetClockAhead notes how far the server's own clock is ahead of Postgres's, for staff to see.
func (t Terms) SetClockAhead(ctx context.Context, serverID string, ahead time.Duration) error {
	ahead = min(max(ahead, -maxAhead), maxAhead)
	_, err := t.db.Exec(ctx, `update servers set clock_ahead = $2 where id = $1`, serverID, ahead.Milliseconds())
	if err != nil {
		return fmt.Errorf("note the clock: %w", err)
	}
	return nil
}

// ClocksOff returns the servers that have noted that their clocks are off, and how far each is
// ahead.
func (t Terms) ClocksOff(ctx context.Context) (map[string]time.Duration, error) {
	var rows []struct {
		ID    string
		Ahead int64 `db:"clock_ahead"`
	}
	if err := t.db.Select(ctx, &rows, `select id, clock_ahead from servers where clock_ahead <> 0`); err != nil {
		return nil, fmt.Errorf("read the servers' clocks: %w", err)
	}
	off := make(map[string]time.Duration, len(rows))
	for _, r := range rows {
		off[r.ID] = time.Duration(r.Ahead) * time.Millisecond
	}
	return off, nil
}
