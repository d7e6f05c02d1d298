package plans

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
)

// nowhere is the address of a Redis that is not there.
const nowhere = "redis://127.0.0.1:1/0"

// patient waits for Redis and for terms as long as a busy machine needs.
var patient = RedisOptions{Timeout: 30 * time.Second, Wait: 30 * time.Second, ProbeEvery: 10 * time.Millisecond, Log: zerolog.Nop()}

// world is what servers share in Postgres, in memory.
type world struct {
	mu       sync.Mutex
	state    cluster.State
	rows     map[[2]string]CounterRow
	recorded Recorded
	joined   int
	// away makes every call fail; grants counts those for grants.
	away   atomic.Bool
	grants atomic.Int64
}

func newWorld() *world { return &world{rows: map[[2]string]CounterRow{}} }

// member joins the cluster until the test ends.
func (w *world) member(t testing.TB) *cluster.Member {
	t.Helper()
	w.mu.Lock()
	w.joined++
	id := "server" + strconv.Itoa(w.joined)
	w.mu.Unlock()
	return cluster.NewMember(w, cluster.Options{ServerID: id, Log: zerolog.Nop()})
}

// server returns the limiter of another server, once a term is in force.
func (w *world) server(t testing.TB, url string, o RedisOptions) *Redis {
	t.Helper()
	l, _, _ := w.spied(t, url, o)
	return l
}

// spied returns a server's limiter, what counts its calls to Redis, and a client to look into Redis with.
func (w *world) spied(t testing.TB, url string, o RedisOptions) (*Redis, *spy, *RedisClient) {
	t.Helper()
	universal, err := parseRedisURL(url)
	if err != nil {
		t.Fatal(err)
	}
	reliable(universal, timeoutOr(o.Timeout))
	client := newRedisClient(universal)
	m := w.member(t)
	o.Cluster, o.Counters = m, w
	calls := &spy{counters: newRedisCounters(client)}
	l := newRedis(calls, o)
	l.run(client)
	ctx, leave := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) })
	t.Cleanup(func() {
		leave()
		running.Wait()
		l.Close()
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := m.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l, calls, client
}

func (w *world) Renew(_ context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away.Load() {
		return cluster.State{}, errGone
	}
	w.state = cluster.Next(w.state, hb, time.Now())
	return w.state, nil
}

func (w *world) Leave(_ context.Context, serverID string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var left []cluster.Server
	for _, s := range w.state.Servers {
		if s.ID != serverID {
			left = append(left, s)
		}
	}
	w.state.Servers = left
	return nil
}

var errGone = errors.New("gone")

// rowsOf has do change the rows of a claim.
func (w *world) rowsOf(c *Claim, do func(CounterTerm, CounterRows) (CounterRows, error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away.Load() {
		return errGone
	}
	t := w.state.Term
	tenant := strconv.FormatInt(c.TenantID, 10)
	g := CounterRows{Tenant: w.rows[[2]string{tenant}], Key: w.rows[[2]string{tenant, c.KeyID}]}
	term := CounterTerm{Number: t.Number, Redis: t.Redis != "", UncleanUntil: t.UncleanUntil, Servers: t.Servers}
	if !w.state.Active {
		term = CounterTerm{}
	}
	g, err := do(term, g)
	if err != nil {
		return err
	}
	w.rows[[2]string{tenant}] = g.Tenant
	if c.KeyID != "" {
		w.rows[[2]string{tenant, c.KeyID}] = g.Key
	}
	return nil
}

func (w *world) Report(_ context.Context, reports []Report) error {
	for _, r := range reports {
		err := w.rowsOf(&Claim{TenantID: r.TenantID, KeyID: r.KeyID}, func(_ CounterTerm, g CounterRows) (CounterRows, error) {
			return g.Reported(r), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *world) Initialize(_ context.Context, o InitRequest) (base Baseline, fresh bool, err error) {
	err = w.rowsOf(&o.Claim, func(t CounterTerm, g CounterRows) (CounterRows, error) {
		var err error
		g, base, fresh, err = g.Initialized(t, o, w.recorded)
		return g, err
	})
	return base, fresh, err
}

func (w *world) Grant(_ context.Context, p GrantRequest) (grant Grant, err error) {
	w.grants.Add(1)
	err = w.rowsOf(&p.Claim, func(t CounterTerm, g CounterRows) (CounterRows, error) {
		var err error
		g, grant, err = g.Granted(t, p, w.recorded)
		return g, err
	})
	return grant, err
}

// spy counts the calls to Redis, and has them fail when a test wants it.
type spy struct {
	counters
	takes, asked, others atomic.Int64
	// takeFails is called after every take.
	takeFails atomic.Pointer[func() error]
}

func (s *spy) take(term int64, asks []ask) error {
	s.takes.Add(1)
	s.asked.Add(int64(len(asks)))
	err := s.counters.take(term, asks)
	if fails := s.takeFails.Load(); err == nil && fails != nil {
		err = (*fails)()
	}
	return err
}

func (s *spy) refund(ctx context.Context, term int64, c *Claim, minute, day int64) error {
	s.others.Add(1)
	return s.counters.refund(ctx, term, c, minute, day)
}

func (s *spy) beginWrite(ctx context.Context, term, tenantID int64) (version int64, ok bool, err error) {
	s.others.Add(1)
	return s.counters.beginWrite(ctx, term, tenantID)
}

// eventually waits until it is so, as long as a busy machine may need.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if so() {
			return
		}
	}
	t.Fatalf("it never came to this: %s", what)
}

func degraded(l *Redis) bool {
	is, _ := l.Degraded()
	return is
}

// decides waits until Redis decides for all of them.
func decides(t testing.TB, limiters ...*Redis) {
	t.Helper()
	for _, l := range limiters {
		eventually(t, "Redis decides", func() bool {
			term, ok := l.cluster.Term()
			return ok && term.Redis != "" && term.Number != l.health.lost.Load()
		})
	}
}

// lines collects a log.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) with(level string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), `"level":"`+level+`"`)
}

// look returns a client to look into a Redis with, as anyone can.
func look(t testing.TB, url string) redis.UniversalClient {
	t.Helper()
	client, err := NewRedisClient(url, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
