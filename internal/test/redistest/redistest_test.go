package redistest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"petstore.example/internal/test/redistest"
)

func connect(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	options.ContextTimeoutEnabled = true
	options.MaxRetries, options.DialerRetries = -1, 1
	client := redis.NewClient(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func answers(t *testing.T, client *redis.Client, limit time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return client.Ping(ctx).Err() == nil
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	client := connect(t, server.URL)
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}

	server.Pause()
	if answers(t, client, 100*time.Millisecond) {
		t.Error("a paused server answers")
	}
	server.Resume()
	if !answers(t, client, 5*time.Second) {
		t.Error("a resumed server does not answer")
	}
	if got := client.Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("after Resume: %q, want v", got)
	}

	server.Flush()
	if n := client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("after flushing: %d keys", n)
	}

	server.Stop()
	if answers(t, client, time.Second) {
		t.Error("a stopped server answers")
	}
	server.Start()
	if !answers(t, connect(t, server.URL), 5*time.Second) {
		t.Error("a server that was started again does not answer at its address")
	}
	server.Pause() // and the cleanup has to cope
}

func TestSharedIsApart(t *testing.T) {
	t.Parallel()
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			client := connect(t, redistest.Shared(t))
			for range 100 {
				if err := client.Incr(t.Context(), "n").Err(); err != nil {
					t.Fatal(err)
				}
			}
			if got := client.Get(t.Context(), "n").Val(); got != "100" {
				t.Errorf("n = %s, want 100: another test writes to this database", got)
			}
		})
	}
}
