package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
)

// stalled is one request over a connection on which nothing passes from the n-th round trip on. A request of another key goes first, so that
// every round trip left is the request's own.
func (s shop) stalled(t *testing.T, n int) (name string, stalled bool, err error) {
	t.Helper()
	proxy := newBreakingProxy(t, s.APIURL)
	db := storetest.Open(t, proxy.url, store.Options{AsAPI: true, MaxConns: 1})
	name = fmt.Sprint("stalled at ", n)
	_, _, err = once(t.Context(), db.Idempotency, s.b.ID, adding(request(name, name), name))
	assert.NoError(t, err)
	proxy.breakAt(n, stall)
	_, _, err = once(t.Context(), db.Idempotency, s.a.ID, adding(request(name, name), name))
	return name, proxy.broke(), err
}

// retry sends the request again by this server until it is answered.
func (s shop) retry(t *testing.T, name string) catalog.Answer {
	t.Helper()
	started := time.Now()
	for {
		a, _, err := once(t.Context(), s.Idempotency, s.a.ID, adding(request(name, name), name))
		if err == nil {
			return a
		}
		if !errors.Is(err, catalog.ErrIdempotencyInProgress) || time.Since(started) > 20*time.Second {
			t.Fatalf("%s, after %v: %v", name, time.Since(started), err)
		}
		time.Sleep(10 * time.Millisecond) // before the request is sent again
	}
}

// A server that is paused or cut off while it has the key's lock keeps it for seconds, not until TCP notices.
func TestOnceWithPausedServer(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.server(t)
	for n := 3; n <= 6; n++ {
		t.Run(fmt.Sprintf("before round trip %d", n), func(t *testing.T) {
			t.Parallel()
			name, broke, err := s.stalled(t, n)
			if !broke || !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("broke %v, %v, want ErrUnavailable", broke, err)
			}
			_, _, err = once(t.Context(), s.Idempotency, s.a.ID, adding(request(name, name), name))
			assert.ErrorIs(t, err, catalog.ErrIdempotencyInProgress, "at first")
			s.wantOne(t, s.a.ID, name, s.retry(t, name))
		})
	}
}
