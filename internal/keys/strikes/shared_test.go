package strikes_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"
	redisstore "github.com/ulule/limiter/v3/drivers/store/redis"

	"petstore.example/internal/keys/strikes"
	"petstore.example/internal/limits/redisbackend/redistest"
	"petstore.example/internal/test/wait"
)

// newCounter counts in the Redis server at that address, as `petstore serve` does.
func newCounter(t *testing.T, url string, bans strikes.BanStore) *strikes.Counter {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.ContextTimeoutEnabled, o.MaxRetries, o.DisableIdentity = true, -1, true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 150*time.Millisecond, 150*time.Millisecond, 150*time.Millisecond
	client := redis.NewClient(o)
	s := strikes.New(strikes.Options{
		Bans: bans, Log: zerolog.Nop(),
		OpenShared: func() (limiter.Store, error) {
			return redisstore.NewStoreWithOptions(client, limiter.StoreOptions{Prefix: "strikes"})
		},
	})
	t.Cleanup(func() {
		s.Close()
		_ = client.Close()
	})
	return s
}

func inRedis(t *testing.T, url, key string) func() string {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return func() string { return client.Get(t.Context(), "strikes:"+key).Val() }
}

func TestTwoServersCountStrikesTogether(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t)
	bans := &fakeBans{}
	first, second := newCounter(t, url, bans), newCounter(t, url, bans)
	count := inRedis(t, url, "key_a")
	c := caller("key_a", 60)
	refuse(first, c, 30)
	refuse(second, c, 29)
	wait.Until(t, "59 strikes are counted", func() bool { return count() == "59" })
	bans.want(t)
	refuse(first, c, 1)
	wait.Until(t, "the key is banned", func() bool { return len(bans.banned()) == 1 })
	wait.Until(t, "its strikes are forgotten", func() bool { return count() == "" })
}

func TestStrikesGoOnWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	bans := &fakeBans{}
	server.Stop()
	s := newCounter(t, server.URL, bans) // Redis is not there when the server starts
	refuse(s, caller("key_a", 60), 60)
	wait.Until(t, "key_a is banned without Redis", func() bool { return len(bans.banned()) == 1 })

	server.Start()
	count := inRedis(t, server.URL, "key_b")
	wait.Until(t, "strikes are shared when Redis is there", func() bool {
		refuse(s, caller("key_b", 1_000), 1)
		return count() != ""
	})

	server.Stop()
	server.Start() // empty: it has lost the scripts too
	wait.Until(t, "strikes are shared when Redis is back", func() bool {
		refuse(s, caller("key_b", 1_000), 1)
		return count() != ""
	})

	server.Pause()
	slow := 0
	for range 60 {
		began := time.Now()
		refuse(s, caller("key_c", 60), 1)
		if time.Since(began) > 50*time.Millisecond {
			slow++
		}
	}
	// A busy machine may hold up some.
	if slow > 20 {
		t.Errorf("%d of 60 refusals waited while Redis was frozen", slow)
	}
	wait.Until(t, "key_c is banned while Redis is frozen", func() bool { return len(bans.banned()) == 2 })
	server.Resume()
}
