package client

import (
	"context"
	"time"
)

// WithClock lets tests say what time it is, and how it passes.
func WithClock(now func() time.Time, sleep func(context.Context, time.Duration) error) Option {
	return func(c *Client) error {
		c.now, c.sleep = now, sleep
		return nil
	}
}

// WithRandom takes numbers in [0, 1) from random.
func WithRandom(random func() float64) Option {
	return func(c *Client) error {
		c.random = random
		return nil
	}
}

// MaxResponse is how much of an answer is read.
const MaxResponse = maxResponse
