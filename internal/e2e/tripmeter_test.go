package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/plans/redistest"
	"petstore.example/internal/store/storetest"
)

// tripMeter stands between a server and what it asks, and counts round trips: how often something is asked after the last
// answer. What goes out together is one.
type tripMeter struct {
	addr  string
	trips atomic.Int64
}

func newTripMeter(t *testing.T, network, addr string) *tripMeter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &tripMeter{addr: l.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { m.relay(client, network, addr) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return m
}

func (m *tripMeter) relay(client net.Conn, network, addr string) {
	server, err := net.Dial(network, addr)
	if err != nil {
		_ = client.Close()
		return
	}
	var asked atomic.Bool
	var both sync.WaitGroup
	both.Go(func() {
		pass(server, client, func() {
			if asked.CompareAndSwap(false, true) {
				m.trips.Add(1)
			}
		})
	})
	both.Go(func() { pass(client, server, func() { asked.Store(false) }) })
	both.Wait()
}

// pass copies what from says to to, each piece after note, and ends both when either ends.
func pass(to, from net.Conn, note func()) {
	defer to.Close()
	defer from.Close()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			note()
			_, failed := to.Write(piece[:n])
			err = errors.Join(err, failed)
		}
		if err != nil {
			return
		}
	}
}

// meterPostgres returns a meter before the database, and the URL of the database behind it.
func meterPostgres(t *testing.T, databaseURL string) (*tripMeter, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	port := query.Get("port")
	if port == "" {
		port = "5432"
	}
	m := newTripMeter(t, "unix", filepath.Join(query.Get("host"), ".s.PGSQL."+port))
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.Host, u.RawQuery = m.addr, query.Encode()
	return m, u.String()
}

// meteredServer is a server with a meter before all that it asks.
type meteredServer struct {
	*server
	*house
	redis, postgres *tripMeter
}

func newMeteredServer(t *testing.T, redisAddr string) *meteredServer {
	t.Helper()
	m := &meteredServer{}
	m.postgres, m.redis = &tripMeter{}, &tripMeter{}
	database, redisURL := storetest.New(t), ""
	postgres, meteredURL := meterPostgres(t, database.APIURL)
	m.postgres = postgres
	if redisAddr != "" {
		m.redis = newTripMeter(t, "tcp", redisAddr)
		redisURL = "redis://" + m.redis.addr + "/0"
	}
	m.house = newHouseOn(t, database.URL, redisURL)
	// A busy machine can stop for longer than a server waits for Redis.
	m.server = m.serve("PETSTORE_DATABASE_URL="+meteredURL, "PETSTORE_REDIS_TIMEOUT=5s")
	return m
}

// trips are round trips to Redis and to Postgres.
type trips struct{ redis, postgres int64 }

// count sends requests one after the other and returns how often each number of round trips fell within one.
func (m *meteredServer) count(t *testing.T, status int, token, path func(int) string) map[trips]int {
	t.Helper()
	const unmeasured, measured = 20, 100
	counts := map[trips]int{}
	for i := range unmeasured + measured {
		before := trips{m.redis.trips.Load(), m.postgres.trips.Load()}
		a := m.client.get(m.server, token(i), path(i))
		if i < unmeasured {
			continue
		}
		if a.status != status {
			t.Fatalf("want %d: %v", status, a)
		}
		counts[trips{m.redis.trips.Load() - before.redis, m.postgres.trips.Load() - before.postgres}]++
	}
	return counts
}

// TestRoundTripsOfARequest: an admitted request asks Redis once, a refused one nobody after the first, a banned one nobody.
// Usage, refusals and what leads to bans are written beside requests, and so fall between some of them.
func TestRoundTripsOfARequest(t *testing.T) {
	redis := redistest.New(t)
	s, alone := newMeteredServer(t, redis.Addr), newMeteredServer(t, "")
	free := func(s *meteredServer) func(int) string {
		return one(s.tenant(plans.Enterprise, roomy, 1).keys[0].token)
	}
	small := s.freshTenant(s.server, plans.Enterprise, &plans.Quota{PerMinute: 3, PerDay: 100_000}, 10)
	banned := s.tenant(plans.Enterprise, roomy, 1).keys[0]
	s.ctl("ban", "place", banned.id, "--for", "1h", "--reason", "test")
	fresh := func(i int) string { return fmt.Sprintf("/pets?cursor=%016x", i+1) }

	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "request\tRedis\tPostgres\tof 100")
	show := func(name string, s *meteredServer, status int, token, path func(int) string, want trips) {
		counts := s.count(t, status, token, path)
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\n", name, want.redis, want.postgres, counts[want])
		if counts[want] < 75 {
			t.Errorf("%s: want %+v within each, were %+v", name, want, counts)
		}
	}
	show("admitted, one animal", s, 404, free(s), one("/pets/1"), trips{1, 1})
	show("admitted, another list each time", s, 200, free(s), fresh, trips{1, 1})
	show("admitted, the same list", s, 200, free(s), one("/pets"), trips{1, 0})
	show("refused", s, 429, func(i int) string { return small.keys[i%10].token }, one("/pets"), trips{0, 0})
	show("banned", s, 429, one(banned.token), one("/pets"), trips{0, 0})
	show("no Redis: admitted, one animal", alone, 404, free(alone), one("/pets/1"), trips{0, 1})
	show("no Redis: admitted, the same list", alone, 200, free(alone), one("/pets"), trips{0, 0})
	redis.Stop()
	provoked := free(s)
	eventually(t, 10*time.Second, "a server that does without Redis", func() bool {
		s.client.get(s.server, provoked(0), "/pets/1")
		return s.ready().Redis == "down"
	})
	show("Redis away: admitted, one animal", s, 404, free(s), one("/pets/1"), trips{0, 1})
	show("Redis away: refused", s, 429, func(i int) string { return small.keys[i%10].token }, one("/pets"), trips{0, 0})
	_ = out.Flush()
	t.Logf("round trips within a request:\n%s", &b)
}

func one(s string) func(int) string { return func(int) string { return s } }
