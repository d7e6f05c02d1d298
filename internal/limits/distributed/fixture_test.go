package distributed_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"

	"petstore.example/internal/cluster"
	"petstore.example/internal/freshness"
	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/limits/distributed"
	"petstore.example/internal/limits/redisbackend"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
	"petstore.example/internal/test/wait"
)

// noRedis is the address of a Redis that is not there.
const noRedis = "redis://127.0.0.1:1/0"

// patient waits for Redis and for terms as long as a busy machine needs. quick finds out soon that
// Redis is lost.
var (
	patient = distributed.Options{
		Timeout:   30 * time.Second,
		Wait:      30 * time.Second,
		PingEvery: 10 * time.Millisecond,
		Log:       zerolog.Nop(),
	}
	quick = distributed.Options{
		Timeout:   time.Second,
		Wait:      20 * time.Second,
		PingEvery: 10 * time.Millisecond,
		Log:       zerolog.Nop(),
	}
)

// unlimited is a quota that no test uses up.
var unlimited = plans.Quota{PerMinute: 1 << 40, PerDay: 1 << 41}

var errGone = errors.New("gone")

// testCluster is what servers share in Postgres, in memory.
type testCluster struct {
	limitstest.CounterStore
	mu      sync.Mutex
	state   cluster.State
	joined  int
	servers map[string]*testServer
	// usage is what the servers have recorded.
	usage map[usedIn]int64
	// away makes every call fail. grants counts the calls for grants.
	away   atomic.Bool
	grants atomic.Int64
	// layout is that of the servers that are added next, "" for the program's. Until it accepts
	// them, the cluster takes no notice of those that count by the other one. refused is whether
	// there was one.
	layout           string
	accepts, refused atomic.Bool
}

const otherLayout = "layout other"

// usedIn is what usage counts in: a tenant's day, its minute, or the minute of one of its keys.
type usedIn struct {
	tenantID, day, minute int64
	keyID                 string
}

func newTestCluster() *testCluster {
	w := &testCluster{servers: map[string]*testServer{}, usage: map[usedIn]int64{}}
	w.Recorded = func(c *limits.Claim, at counter.Wanted) counter.Recorded {
		w.mu.Lock()
		defer w.mu.Unlock()
		return counter.Recorded{
			Day: at.Day, DayUsed: w.usage[usedIn{tenantID: c.TenantID, day: at.Day}], Minute: at.Minute,
			MinuteUsed: w.usage[usedIn{tenantID: c.TenantID, minute: at.Minute}],
			KeyUsed:    w.usage[usedIn{tenantID: c.TenantID, minute: at.Minute, keyID: c.KeyID}],
		}
	}
	w.Term = func() (counter.Term, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch t := w.state.Term; {
		case w.away.Load():
			return counter.Term{}, errGone
		case !w.state.Active:
			return counter.Term{}, nil
		default:
			return counter.Term{Number: t.Number, Redis: t.Redis != "", Servers: t.Servers}, nil
		}
	}
	return w
}

// Grant implements counter.Store.
func (w *testCluster) Grant(ctx context.Context, r counter.GrantRequest) (counter.Grant, error) {
	w.grants.Add(1)
	return w.CounterStore.Grant(ctx, r)
}

// Renew implements cluster.Store.
func (w *testCluster) Renew(_ context.Context, hb cluster.Heartbeat) (cluster.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away.Load() {
		return cluster.State{}, errGone
	}
	if cluster.LayoutOf(hb.Redis) == otherLayout && !w.accepts.Load() {
		w.refused.Store(true)
		hb.Redis = ""
	}
	now := time.Now()
	before := w.state
	w.state = cluster.Next(w.state, hb, now)
	if before.Term.Number != w.state.Term.Number || before.Active != w.state.Active {
		for _, s := range w.servers {
			s.member.Wake() // Postgres notifies all of them.
		}
	}
	return w.state, nil
}

// Leave implements cluster.Store.
func (w *testCluster) Leave(_ context.Context, serverID string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Servers = slices.DeleteFunc(
		slices.Clone(w.state.Servers),
		func(s cluster.Server) bool { return s.ID == serverID },
	)
	return nil
}

// member returns a new server's part in the cluster.
func (w *testCluster) member() *cluster.Member {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.joined++
	return cluster.NewMember(w, cluster.Options{ServerID: "server" + strconv.Itoa(w.joined), Log: zerolog.Nop()})
}

// testServer is one server of a testCluster.
type testServer struct {
	*distributed.Limiter
	freshness.Invalidator
	member  *cluster.Member
	cluster *testCluster
	calls   *spy
	// stop ends the server, once.
	stop func()
}

// record notes n requests as usage.
func (w *testCluster) record(c *limits.Claim, d *limits.Decision, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.usage[usedIn{tenantID: c.TenantID, day: d.Day.Number}] += n
	w.usage[usedIn{tenantID: c.TenantID, minute: d.Minute.Number}] += n
	if c.KeyID != "" {
		w.usage[usedIn{tenantID: c.TenantID, minute: d.Minute.Number, keyID: c.KeyID}] += n
	}
}

// Take records what it admits, as the API does.
func (s *testServer) Take(ctx context.Context, c limits.Claim, now time.Time) limits.Decision {
	d := s.Limiter.Take(ctx, c, now)
	s.recordIf(&c, &d, 1)
	return d
}

// TakeWrite is Take of a request that writes.
func (s *testServer) TakeWrite(ctx context.Context, c limits.Claim, now time.Time) (limits.Decision, limits.Announced) {
	d, announced := s.Limiter.TakeWrite(ctx, c, now)
	s.recordIf(&c, &d, 1)
	return d, announced
}

// Refund takes back what was recorded.
func (s *testServer) Refund(ctx context.Context, c limits.Claim, d limits.Decision) {
	s.Limiter.Refund(ctx, c, d)
	s.recordIf(&c, &d, -1)
}

func (s *testServer) recordIf(c *limits.Claim, d *limits.Decision, n int64) {
	if d.Admitted && !d.Undecided {
		s.cluster.record(c, d, n)
	}
}

// server adds a server to the cluster until the test ends. It returns once a term is in force.
func (w *testCluster) server(t testing.TB, url string, o distributed.Options) *testServer {
	t.Helper()
	client, err := redisbackend.NewClient(url, o.Timeout)
	assert.NoError(t, err)
	s := &testServer{cluster: w, member: w.member(), calls: &spy{Backend: redisbackend.New(client), layout: w.layout}}
	o.Cluster = s.member
	if o.Counters == nil {
		o.Counters = w
	}
	s.Limiter = distributed.New(s.calls, o)
	s.Invalidator = s.Limiter.Invalidator()
	s.Start()
	w.mu.Lock()
	w.servers[s.member.ID()] = s
	w.mu.Unlock()
	ctx, leave := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = s.member.Run(ctx) })
	s.stop = sync.OnceFunc(func() {
		s.Close()
		leave()
		running.Wait()
		assert.Equal(t, client.Close(), nil)
	})
	t.Cleanup(s.stop)
	_, err = s.member.Await(t.Context())
	assert.NoError(t, err)
	return s
}

// spy counts the calls to Redis, and has them fail when a test wants it.
type spy struct {
	distributed.Backend
	takes, requests, others atomic.Int64
	// takeFails is called after every take.
	takeFails atomic.Pointer[func() error]
	// cutOff makes all other calls fail.
	cutOff atomic.Bool
	// deaf has it hear of no refunds.
	deaf atomic.Bool
	// layout takes the place of the program's; "" for that.
	layout string
}

// Listen implements distributed.Backend.
func (s *spy) Listen(ctx context.Context, to distributed.RefundListener) {
	s.Backend.Listen(ctx, refundsHeard{to, &s.deaf})
}

type refundsHeard struct {
	distributed.RefundListener
	deaf *atomic.Bool
}

// Refunded implements distributed.RefundListener.
func (r refundsHeard) Refunded(tenantID int64) {
	if !r.deaf.Load() {
		r.RefundListener.Refunded(tenantID)
	}
}

// Ping implements distributed.Backend.
func (s *spy) Ping(ctx context.Context) (string, error) {
	if s.cutOff.Load() {
		return "", errGone
	}
	fingerprint, err := s.Backend.Ping(ctx)
	if _, place, ok := strings.Cut(fingerprint, ","); ok && s.layout != "" {
		fingerprint = s.layout + "," + place
	}
	return fingerprint, err
}

func (s *spy) Take(term int64, over []distributed.WriteIntent, requests []distributed.Request) error {
	s.takes.Add(1)
	s.requests.Add(int64(len(requests)))
	err := s.Backend.Take(term, over, requests)
	if fails := s.takeFails.Load(); err == nil && fails != nil {
		err = (*fails)()
	}
	return err
}

// InitTenant implements distributed.Backend.
func (s *spy) InitTenant(ctx context.Context, term, tenantID int64, b counter.Baseline, changing bool) error {
	if s.cutOff.Load() {
		return errGone
	}
	return s.Backend.InitTenant(ctx, term, tenantID, b, changing)
}

func (s *spy) Refund(ctx context.Context, term int64, c *limits.Claim, minute, day, month int64) error {
	s.others.Add(1)
	if s.cutOff.Load() {
		return errGone
	}
	return s.Backend.Refund(ctx, term, c, minute, day, month)
}

func (s *spy) BeginWrite(ctx context.Context, term, tenantID int64) (version int64, ok bool, err error) {
	s.others.Add(1)
	if s.cutOff.Load() {
		return 0, false, errGone
	}
	return s.Backend.BeginWrite(ctx, term, tenantID)
}

// one adds a server for which Redis decides.
func (w *testCluster) one(t testing.TB, url string, o distributed.Options) *testServer {
	t.Helper()
	l := w.server(t, url, o)
	decides(t, l)
	return l
}

// two adds two of them.
func (w *testCluster) two(t testing.TB, url string, o distributed.Options) (a, b *testServer) {
	t.Helper()
	a, b = w.server(t, url, o), w.server(t, url, o)
	decides(t, a, b)
	return a, b
}

// decides waits until Redis decides for all of them.
func decides(t testing.TB, servers ...*testServer) {
	t.Helper()
	for _, l := range servers {
		wait.Until(t, "Redis decides", func() bool {
			term, ok := l.member.Term()
			return ok && term.Redis != "" && !l.LostIn(term.Number)
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
	client, err := redisbackend.NewClient(url, 30*time.Second)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
