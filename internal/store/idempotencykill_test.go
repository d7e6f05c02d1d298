package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/test/storetest"
)

// broken is one request over a connection that breaks at the n-th round trip. A request of another key goes first, so
// that every round trip left is the request's own.
func (s shop) broken(t *testing.T, n int, how breakage) (name string, broke bool, answer catalog.Answer, err error) {
	t.Helper()
	proxy := newBreakingProxy(t, s.APIURL)
	// Who waits for a stalled connection has to give up; a cut is noticed by a server with a long timeout too.
	db := storetest.Open(t, proxy.url, store.Options{AsAPI: how == stall, MaxConns: 1})
	name = fmt.Sprintf("%d %d", how, n)
	if _, _, err := once(t.Context(), db.Idempotency, s.b.ID, adding(request(name, name), name)); err != nil {
		t.Fatal(err)
	}
	proxy.breakAt(n, how)
	answer, _, err = once(t.Context(), db.Idempotency, s.a.ID, adding(request(name, name), name))
	return name, proxy.broke(), answer, err
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

// A connection that ends before or after any of a request's steps, and a client that tries again, make one animal.
func TestOnceWithConnectionCutAtEveryStep(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.server(t)
	for _, how := range []breakage{cutRequest, cutAnswer} {
		for n := 1; ; n++ {
			name, broke, first, err := s.broken(t, n, how)
			if err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s: %v, want ErrUnavailable", name, err)
			}
			again := s.retry(t, name)
			s.wantOne(t, s.a.ID, name, again)
			if diff := cmp.Diff(first, again); err == nil && diff != "" {
				t.Errorf("%s (-first +again):\n%s", name, diff)
			}
			if !broke {
				// begin, lock, look, create, keep, commit
				if n != 7 {
					t.Errorf("a request takes %d round trips", n-1)
				}
				break
			}
		}
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
			name, broke, _, err := s.broken(t, n, stall)
			if !broke || !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("broke %v, %v, want ErrUnavailable", broke, err)
			}
			if _, _, err := once(t.Context(), s.Idempotency, s.a.ID, adding(request(name, name), name)); !errors.Is(err, catalog.ErrIdempotencyInProgress) {
				t.Errorf("at first: %v, want ErrIdempotencyInProgress", err)
			}
			s.wantOne(t, s.a.ID, name, s.retry(t, name))
		})
	}
}

// An administrator who ends the API's connections between two steps does no harm either.
func TestOnceWithBackendTerminated(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.server(t)
	victim := storetest.Open(t, s.URL, store.Options{AsAPI: true})
	terminate := func() {
		t.Helper()
		// Those that wait in a transaction are the victim's.
		s.exec(t, `select pg_terminate_backend(pid, 5000) from pg_stat_activity
			where datname = current_database() and state = 'idle in transaction'`)
	}
	const name = "after the animal is made"
	o := adding(request(name, name), name)
	answer := o.Answer
	o.Answer = func(p *catalog.Pet) (catalog.Answer, error) {
		terminate()
		return answer(p)
	}
	if _, _, err := once(t.Context(), victim.Idempotency, s.a.ID, o); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
	if pets := s.pets(t, s.a.ID); len(pets) != 0 {
		t.Errorf("left behind: %+v", pets)
	}
	s.wantOne(t, s.a.ID, name, s.retry(t, name))
}
