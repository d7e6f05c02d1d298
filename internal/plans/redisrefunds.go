package plans

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// refundsChannel is where refund.lua says whose request was given back.
const refundsChannel = "pst:refunds"

// hearRefunds has the limiter forget what it refuses to tenants that got something back, until ctx ends. While it does not hear
// of that, which includes the time between a loss of the connection and its discovery by a ping, refusals last a second.
func (c *RedisClient) hearRefunds(ctx context.Context, r *Redis) {
	for n := int64(1); ctx.Err() == nil; n++ {
		c.hear(ctx, r, n)
		r.session.Store(0)
		select {
		case <-ctx.Done():
		case <-time.After(r.options.ProbeEvery):
		}
	}
}

// pingEvery is how often a subscription is tried that nothing came from.
const pingEvery = time.Second

// hear is one subscription. It ends when it breaks.
func (c *RedisClient) hear(ctx context.Context, r *Redis, session int64) {
	s := c.Subscribe(ctx, refundsChannel)
	defer func() { _ = s.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	pinged := false
	for {
		message, err := s.ReceiveTimeout(ctx, pingEvery)
		var timeout interface{ Timeout() bool }
		switch {
		case errors.As(err, &timeout) && timeout.Timeout() && !pinged:
			if pinged = true; s.Ping(ctx) != nil {
				return
			}
			continue
		case err != nil:
			return
		}
		pinged = false
		switch m := message.(type) {
		case *redis.Subscription:
			r.session.Store(session)
		case *redis.Message:
			if id, err := strconv.ParseInt(m.Payload, 10, 64); err == nil {
				r.refunded(id)
			}
		}
	}
}
