package redisbackend

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestNewClient(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for _, url := range []string{
		"", "localhost:6379", "http://" + secret + "@localhost", "redis:" + secret, "redis://:" + secret, "redis://:" + secret + "/x@localhost",
		"redis://u:" + secret + "@localhost:port", "redis://u:" + secret + "@localhost/db", "redis://localhost/?password=" + secret,
		"redis://u:%zz" + secret + "@localhost", "redis://u:" + secret + "@localhost?addr=a:1&nonsense=1", "unix://u:" + secret + "@/tmp/redis",
		"redis://localhost\x7f" + secret,
	} {
		_, err := NewClient(url, 0)
		if !errors.Is(err, ErrURL) {
			t.Errorf("%q: %v, want ErrRedisURL", url, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error shows the password: %v", url, err)
		}
	}

	for url, wantAddr := range map[string]string{
		"redis://localhost":                        "localhost:6379",
		"redis://u:" + secret + "@10.0.0.1:7000/3": "10.0.0.1:7000",
		"rediss://:" + secret + "@redis.example":   "redis.example:6379",
		"redis://[::1]:7000":                       "[::1]:7000",
	} {
		client, err := NewClient(url, 0)
		if err != nil {
			t.Errorf("%q: %v", url, err)
			continue
		}
		o := client.UniversalClient.(*redis.Client).Options()
		if o.Addr != wantAddr || !o.ContextTimeoutEnabled || o.MaxRetries != 0 || (o.TLSConfig != nil) != strings.HasPrefix(url, "rediss") {
			t.Errorf("%q: address %s, %d retries, context's deadline heeded: %v, TLS: %v",
				url, o.Addr, o.MaxRetries, o.ContextTimeoutEnabled, o.TLSConfig != nil)
		}
		_ = client.Close()
	}

	client, err := NewClient("redis://u:"+secret+"@a:1?addr=b:2&addr=c:3", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cluster, ok := client.UniversalClient.(*redis.ClusterClient)
	if !ok || len(cluster.Options().Addrs) != 3 || cluster.Options().Password != secret {
		t.Errorf("a URL with three nodes made a %T", client)
	}
}
