package redisbackend

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/limits/distributed"
)

const (
	// pingEvery is how often a silent subscription is tried.
	pingEvery = time.Second
	// resubscribeAfter is the pause after a lost subscription.
	resubscribeAfter = 100 * time.Millisecond
)

// Listen implements distributed.Backend. A ping notices a lost connection within two seconds.
func (s *Backend) Listen(ctx context.Context, to distributed.RefundListener) {
	for n := int64(1); ctx.Err() == nil; n++ {
		s.subscribe(ctx, to, n)
		to.Subscribed(0)
		select {
		case <-ctx.Done():
		case <-time.After(resubscribeAfter):
		}
	}
}

// subscribe runs one subscription, and returns when it is lost.
func (s *Backend) subscribe(ctx context.Context, to distributed.RefundListener, session int64) {
	sub := s.client.Subscribe(ctx, refundsChannel)
	defer func() { _ = sub.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() })
	defer stop()
	pinged := false
	for {
		message, err := sub.ReceiveTimeout(ctx, pingEvery)
		var timeout interface{ Timeout() bool }
		switch {
		case errors.As(err, &timeout) && timeout.Timeout() && !pinged:
			if pinged = true; sub.Ping(ctx) != nil {
				return
			}
			continue
		case err != nil:
			return
		}
		pinged = false
		switch m := message.(type) {
		case *redis.Subscription:
			to.Subscribed(session)
		case *redis.Message:
			if id, err := strconv.ParseInt(m.Payload, 10, 64); err == nil {
				to.Refunded(id)
			}
		}
	}
}
