package redisbackend

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// observer is called after each call with its duration and error. The error is nil if Redis itself
// reported it, because then Redis answered.
type observer func(took time.Duration, err error)

var _ redis.Hook = observer(nil)

// Observe makes the client call f after each call to Redis. Call it before the client is used.
func (c *Client) Observe(f func(took time.Duration, err error)) {
	c.observe = f
	c.AddHook(c.observe)
}

// DialHook implements redis.Hook.
func (o observer) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (o observer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		o(time.Since(began), unanswered(err))
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (o observer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmds)
		o(time.Since(began), unanswered(err))
		return err
	}
}

func unanswered(err error) error {
	if replied := redis.Error(nil); errors.As(err, &replied) {
		return nil
	}
	return err
}
