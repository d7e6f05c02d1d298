package redisbackend

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/test/assert"
)

func TestNewClient(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for _, url := range []string{
		"", "localhost:6379", "http://" + secret + "@localhost", "redis:" + secret, "redis://:" + secret,
		"redis://:" + secret + "/x@localhost",
		"redis://u:" + secret + "@localhost:port", "redis://u:" + secret + "@localhost/db",
		"redis://localhost/?password=" + secret,
		"redis://u:%zz" + secret + "@localhost", "redis://u:" + secret + "@localhost?addr=a:1&nonsense=1",
		"unix://u:" + secret + "@/tmp/redis",
		"redis://localhost\x7f" + secret, "redis://a:1?master_name=&addr=b:2&password=" + secret,
		"redis://a:1?master_name=m&nonsense=" + secret,
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
		if o.Addr != wantAddr || !o.ContextTimeoutEnabled || o.MaxRetries != 0 ||
			(o.TLSConfig != nil) != strings.HasPrefix(url, "rediss") {
			t.Errorf("%q: address %s, %d retries, context's deadline heeded: %v, TLS: %v",
				url, o.Addr, o.MaxRetries, o.ContextTimeoutEnabled, o.TLSConfig != nil)
		}
		_ = client.Close()
	}

	client, err := NewClient("redis://u:"+secret+"@a:1?addr=b:2&addr=c:3", 0)
	assert.NoError(t, err)
	defer client.Close()
	cluster, ok := client.UniversalClient.(*redis.ClusterClient)
	if !ok || len(cluster.Options().Addrs) != 3 || cluster.Options().Password != secret {
		t.Errorf("a URL with three nodes made a %T", client)
	}
}

// TestURLRefused: what is no URL is refused by what it is, and quoted nowhere.
func TestURLRefused(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"\ufeffredis://u:hunter2@h":            "it begins with a byte order mark: ",
		`"redis://u:hunter2@h"`:                "it is in quotes: ",
		"redis://u:hunter2@h\n":                "it has a blank or a line end before or after it: ",
		"r\x00e\x00d\x00i\x00":                 "it is UTF-16: save it as UTF-8: ",
		"redis+sentinel://u:hunter2@h":         "it is no redis:// URL: the scheme is redis+sentinel: ",
		"REDIS://u:hunter2@h":                  "it is no redis:// URL: the scheme is REDIS: ",
		"hunter2://h":                          "it does not begin with redis://: ",
		"redis:///u:hunter2@h":                 "",
		"redis://u:1#hunter2@h":                "",
		"redis://h/0?pool_size=1;hunter2=x":    "",
		"redis:u:hunter2@h":                    "",
		"cmVkaXM6Ly91Omh1bnRlcjJAaC8wPz0KCg==": "",
	} {
		err := CheckURL(url)
		_, newErr := NewClient(url, 0)
		if err == nil || err.Error() != want+ErrURL.Error() || newErr == nil || newErr.Error() != err.Error() {
			t.Errorf("%q: %v, %v", url, err, newErr)
		}
	}
}

func TestSentinelURL(t *testing.T) {
	t.Parallel()
	o, err := parseURL("rediss://u:sentinels@a:1/3?master_name=m&addr=b:2&username=v&password=redis")
	assert.NoError(t, err)
	if o.MasterName != "m" || len(o.Addrs) != 2 || o.SentinelUsername != "u" || o.SentinelPassword != "sentinels" ||
		o.DB != 3 || o.Username != "v" || o.Password != "redis" {
		t.Errorf("%+v", o)
	}
	if o.TLSConfig == nil || o.TLSConfig.ServerName != "" || o.TLSConfig.InsecureSkipVerify {
		t.Errorf("TLS: %+v, want each server's certificate checked for its own address", o.TLSConfig)
	}
}
