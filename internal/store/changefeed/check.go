package changefeed

import (
	"context"
	"errors"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/store/pgconn"
)

// ErrShared means that notifications do not arrive, because several clients share a session of
// Postgres.
var ErrShared = errors.New("a notification of this server to itself did not arrive: " +
	"a pooler shares the connections (PgBouncer in transaction mode); connect directly, or by a pooler in session mode")

const (
	// checkTimeout is how long Check waits for the notification, checkReadTimeout how long for one
	// read.
	checkTimeout     = 10 * time.Second
	checkReadTimeout = 12 * time.Second
)

// Check returns ErrShared if Listen would receive no notifications. It listens on the channel,
// which must be the caller's own, and calls notify, which must send a notification to it from
// another connection.
func Check(
	ctx context.Context,
	url, channel string,
	notify func(ctx context.Context, channel string) error,
) (err error) {
	defer pgconn.Wrap(&err, "check the change feed")
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	connected := make(chan error, 16)
	l := pq.NewDialListener(pgconn.Dialer{ReadTimeout: checkReadTimeout}, url, minReconnect, maxReconnect,
		func(_ pq.ListenerEventType, err error) {
			select {
			case connected <- err:
			default: // nobody waits for the result
			}
		})
	// Without this, Listen would wait for as long as the database is down.
	closeAtEnd := context.AfterFunc(ctx, func() { _ = l.Close() })
	err = awaitNotification(ctx, l, connected, channel, notify)
	if closeAtEnd() {
		_ = l.Close()
	}
	for range l.NotificationChannel() {
		// Wait until the listener's goroutine has ended.
	}
	return err
}

func awaitNotification(
	ctx context.Context,
	l *pq.Listener,
	connected <-chan error,
	channel string,
	notify func(context.Context, string) error,
) error {
	// The listener keeps connecting until it succeeds.
	if err := pgconn.Patiently(ctx, pgconn.Options{OpenTimeout: checkTimeout}, func(ctx context.Context) error {
		select {
		case err := <-connected:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}); err != nil {
		return pgconn.Translate(err)
	}
	if err := l.Listen(channel); err != nil {
		return pgconn.Translate(err)
	}
	if err := notify(ctx, channel); err != nil {
		return err
	}
	select {
	case n := <-l.NotificationChannel():
		if n != nil {
			return nil
		}
	case <-ctx.Done():
	}
	switch err := ctx.Err(); {
	case err == nil:
		return pgconn.ErrUnavailable // the connection was lost
	case errors.Is(err, context.DeadlineExceeded):
		return ErrShared
	default:
		return err
	}
}
