package servers

import (
	"context"
	"net"
	"os/exec"

	"github.com/redis/go-redis/v9"
)

// StartRedis starts a Redis without persistence, which logs to dir, and returns its URL without a
// database number.
func StartRedis(ctx context.Context, dir string) (s *Server, url string, err error) {
	s, err = serve(ctx, dir, "redis", func(addrs [2]string) (*exec.Cmd, error) {
		url = "redis://" + addrs[0] + "/"
		host, port, _ := net.SplitHostPort(addrs[0])
		return exec.Command("redis-server", "--bind", host, "--port", port, "--save", "", "--dir", dir), nil
	}, func(ctx context.Context, s *Server) bool {
		client := redis.NewClient(&redis.Options{Addr: s.URL[len("http://"):], MaxRetries: -1, DisableIdentity: true})
		defer client.Close()
		return client.Ping(ctx).Err() == nil
	})
	return s, url, err
}
