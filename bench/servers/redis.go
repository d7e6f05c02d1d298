package servers

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Redis is a server without persistence.
type Redis struct {
	*Child
	URL     string // of its first database
	Version string
}

// StartRedis starts a Redis that logs to dir.
func StartRedis(ctx context.Context, dir string) (*Redis, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: install it with tools/install.sh redis-server, as make bench does", err)
	}
	r := &Redis{}
	return r, onFreePorts(ctx, 1, func(addrs []string) (err error) {
		host, port, _ := net.SplitHostPort(addrs[0])
		cmd := exec.Command(path, "--bind", host, "--port", port, "--save", "", "--appendonly", "no", "--dir", dir)
		r.URL = "redis://" + addrs[0] + "/0"
		client := redis.NewClient(&redis.Options{Addr: addrs[0], PoolSize: 1, MaxRetries: -1, DisableIdentity: true})
		defer client.Close()
		r.Child, err = start(ctx, dir, "redis", cmd, func(ctx context.Context) bool {
			info := client.InfoMap(ctx, "server").Val()["Server"]
			r.Version = strings.TrimSpace(info["redis_version"])
			return r.Version != ""
		})
		return err
	})
}

// Database returns the URL of the database of that number.
func (r *Redis) Database(number int) string {
	return strings.TrimSuffix(r.URL, "0") + strconv.Itoa(number)
}
