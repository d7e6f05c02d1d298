package store_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/catalog"
	"petstore.example/internal/store"
	"petstore.example/internal/store/storetest"
)

// breakage is what a breakingProxy does at the chosen round trip.
type breakage int

const (
	// cutRequest: the database never hears of it, and both sides see the connection end.
	cutRequest breakage = iota
	// cutAnswer: the database has done it, and the answer is lost with the connection.
	cutAnswer
	// silence: nothing passes any more, and the database does not see the connection end: the program's machine is frozen.
	silence
)

// breakingProxy stands between a program and Postgres, and breaks one round trip when it was told to.
type breakingProxy struct {
	url string

	mu     sync.Mutex
	how    breakage
	left   int // round trips up to the broken one; 0 for none to break
	silent bool
}

func newBreakingProxy(t *testing.T, databaseURL string) *breakingProxy {
	t.Helper()
	p := &breakingProxy{}
	p.url = storetest.ProxyURL(t, databaseURL, p.relay)
	return p
}

// breakAt breaks the n-th round trip from now on.
func (p *breakingProxy) breakAt(n int, how breakage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.how = n, how
}

// broke tells whether the round trip to break has come. It is not broken any more if not.
func (p *breakingProxy) broke() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	came := p.left == 0
	p.left = 0
	return came
}

// remaining returns how many round trips are left up to the one to break.
func (p *breakingProxy) remaining() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// next counts a round trip, and tells whether and how to break it.
func (p *breakingProxy) next() (how breakage, broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return 0, false
	}
	p.left--
	p.silent = p.left == 0 && p.how == silence
	return p.how, p.left == 0
}

// frozen reports whether nothing passes any more.
func (p *breakingProxy) frozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent
}

// relay carries one round trip after the other: lib/pq does not send a request before the last one is answered.
func (p *breakingProxy) relay(client, server net.Conn) {
	frozen := p.frozen()
	for read := readStartup; !frozen; read = readTrip {
		trip, err := read(client)
		if err != nil {
			break
		}
		how, broken := breakage(0), false
		if trip[0] != 0 { // the startup has no type, and is no round trip to break
			how, broken = p.next()
		}
		if broken && how == silence {
			frozen = true
			break
		}
		if broken && how == cutRequest || carry(client, server, trip, broken) != nil {
			break
		}
	}
	if !frozen {
		_ = server.Close()
	}
	if frozen {
		_, _ = io.Copy(io.Discard, client)
	}
	_ = client.Close()
}

// carry brings a request to the server and what it answers, up to its being ready for the next, to the client unless
// that is to be lost.
func carry(client, server net.Conn, trip []byte, lose bool) error {
	if _, err := server.Write(trip); err != nil {
		return err
	}
	for {
		message, err := readMessage(server)
		if err != nil {
			return err
		}
		if !lose {
			if _, err := client.Write(message); err != nil {
				return err
			}
		}
		if message[0] == 'Z' {
			if lose {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
	}
}

// readStartup reads the first message, which is a length and the rest.
func readStartup(r io.Reader) ([]byte, error) {
	message := make([]byte, 4)
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, err
	}
	message = append(message, make([]byte, binary.BigEndian.Uint32(message)-4)...)
	_, err := io.ReadFull(r, message[4:])
	return message, err
}

// readTrip reads messages up to the one that asks for an answer.
func readTrip(r io.Reader) (trip []byte, err error) {
	for {
		message, err := readMessage(r)
		if err != nil {
			return nil, err
		}
		switch trip = append(trip, message...); message[0] {
		case 'S', 'Q', 'X': // sync, query, terminate
			return trip, nil
		}
	}
}

// broken is one request over a connection that breaks at the n-th round trip. A request of another key goes first, so
// that every round trip left is the request's own.
func (s shop) broken(t *testing.T, n int, how breakage) (name string, broke bool, answer catalog.Answer, err error) {
	t.Helper()
	proxy := newBreakingProxy(t, s.database.APIURL)
	// Who meets silence has to give up; a cut is noticed by whoever is patient too.
	db := storetest.Open(t, proxy.url, store.Options{AsAPI: how == silence, MaxConns: 1})
	name = fmt.Sprintf("%d %d", how, n)
	if _, _, err := db.Idempotency.Once(t.Context(), s.b.ID, request(name, name), adding(s.b.ID, name)); err != nil {
		t.Fatal(err)
	}
	proxy.breakAt(n, how)
	answer, _, err = db.Idempotency.Once(t.Context(), s.a.ID, request(name, name), adding(s.a.ID, name))
	return name, proxy.broke(), answer, err
}

// retry sends the request again by this server until it is answered.
func (s shop) retry(t *testing.T, name string) catalog.Answer {
	t.Helper()
	started := time.Now()
	for {
		a, _, err := s.Idempotency.Once(t.Context(), s.a.ID, request(name, name), adding(s.a.ID, name))
		if err == nil {
			return a
		}
		if !errors.Is(err, catalog.ErrIdempotencyInProgress) || time.Since(started) > 20*time.Second {
			t.Fatalf("%s, after %v: %v", name, time.Since(started), err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A connection that ends before or after any of a request's steps, and a client that tries again, make one animal.
func TestOnceWithConnectionCutAtEveryStep(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.patient(t)
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

// A server that freezes or is cut off with the key's lock in its hand keeps it for seconds, not for as long as TCP takes to notice.
func TestOnceWithFrozenServer(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.DB = s.patient(t)
	for n := 3; n <= 6; n++ {
		t.Run(fmt.Sprintf("before round trip %d", n), func(t *testing.T) {
			t.Parallel()
			name, broke, _, err := s.broken(t, n, silence)
			if !broke || !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("broke %v, %v, want ErrUnavailable", broke, err)
			}
			if _, _, err := s.Idempotency.Once(t.Context(), s.a.ID, request(name, name), adding(s.a.ID, name)); !errors.Is(err, catalog.ErrIdempotencyInProgress) {
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
	s.DB = s.patient(t)
	victim, owner := storetest.Open(t, s.database.URL, store.Options{AsAPI: true}), s.owner(t)
	terminate := func() {
		t.Helper()
		// Those that wait in a transaction are the victim's.
		owner.MustExec(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
			where datname = current_database() and state = 'idle in transaction'`)
	}
	for name, work := range map[string]func(context.Context, catalog.Creator) (catalog.Answer, error){
		"before the animal is made": func(ctx context.Context, c catalog.Creator) (catalog.Answer, error) {
			terminate()
			return adding(s.a.ID, "before the animal is made")(ctx, c)
		},
		"after the animal is made": func(ctx context.Context, c catalog.Creator) (catalog.Answer, error) {
			a, err := adding(s.a.ID, "after the animal is made")(ctx, c)
			terminate()
			return a, err
		},
	} {
		if _, _, err := victim.Idempotency.Once(t.Context(), s.a.ID, request(name, name), work); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", name, err)
		}
		if pets := s.pets(t, s.a.ID); len(pets) != 0 {
			t.Errorf("%s: left behind: %+v", name, pets)
		}
	}
	for _, name := range []string{"before the animal is made", "after the animal is made"} {
		s.wantOne(t, s.a.ID, name, s.retry(t, name))
	}
}
