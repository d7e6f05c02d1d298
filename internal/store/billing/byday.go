package billing

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"petstore.example/internal/store/pgconn"
)

// ByDayError is returned for hours that are summed into days.
type ByDayError struct {
	// Until is the first instant from which there are hours.
	Until time.Time
}

// Error implements error.
func (e ByDayError) Error() string {
	return fmt.Sprintf("usage before %s is stored by day", e.Until.Format(time.DateOnly))
}

// hoursSince returns a ByDayError if the hours after that instant are summed into days.
func hoursSince(ctx context.Context, q pgconn.Queryer, from time.Time) error {
	until, err := byDayUntil(ctx, q)
	if err == nil && from.Before(until) {
		err = ByDayError{until}
	}
	return err
}

// byDayUntil returns up to when hours are summed into days; zero if none are.
func byDayUntil(ctx context.Context, q pgconn.Queryer) (time.Time, error) {
	var until sql.NullTime
	err := q.Get(ctx, &until, `select by_day_until()`)
	return pgconn.TimeOf(until), err
}
