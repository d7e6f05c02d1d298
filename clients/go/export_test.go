package client

// WithRandom takes numbers in [0, 1) from random.
func WithRandom(random func() float64) Option {
	return func(c *Client) error {
		c.random = random
		return nil
	}
}

// MaxResponse is how much of an answer is read.
const MaxResponse = maxResponse

// ImportKey is the idempotency key of a row.
var ImportKey = importKey
