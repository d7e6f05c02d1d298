package servers

import (
	"context"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/syspkg"
)

// Redis is a server that keeps nothing on disk.
type Redis struct {
	*Child
	URL     string // of its first database
	Version string
}

// StartRedis starts a Redis, and installs it when it is missing; what the installer says goes to w.
func StartRedis(ctx context.Context, w io.Writer, dir string) (*Redis, error) {
	var path string
	err := syspkg.Ensure(ctx, w, syspkg.Package{Name: "Redis", Apt: "redis-server", Brew: "redis"}, func() (found bool) {
		var err error
		path, err = exec.LookPath("redis-server")
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	r := &Redis{}
	return r, anywhere(ctx, 1, func(addrs []string) (err error) {
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

// Database returns the URL of a database of its own.
func (r *Redis) Database(number int) string {
	return strings.TrimSuffix(r.URL, "0") + strconv.Itoa(number)
}
