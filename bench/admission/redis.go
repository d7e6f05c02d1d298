package admission

import (
	"context"

	"petstore.example/internal/plans"
)

// newRedis returns the limiter that counts in the Redis of that URL.
func newRedis(_ context.Context, url string) (l plans.Limiter, closeAll func(), err error) {
	client, err := plans.NewRedisClient(url, 0)
	if err != nil {
		return nil, nil, err
	}
	shared := plans.NewRedis(client, plans.RedisOptions{})
	return shared, func() { shared.Close(); _ = client.Close() }, nil
}
