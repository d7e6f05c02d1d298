package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"

	"petstore.example/internal/catalog"
	"petstore.example/internal/keys"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
	"petstore.example/internal/webhooks"
)

// at is the instant of most tests.
var at = time.Date(2026, time.November, 20, 9, 21, 48, 0, time.UTC)

const baseURL = "https://api.example.com/v1"

// fixture is an API over fakes in memory.
type fixture struct {
	http.Handler
	mu       sync.Mutex
	now      time.Time
	logs     *syncBuffer
	registry *prometheus.Registry

	directory *fakeDirectory
	limiter   limits.Limiter
	addresses *fakeAddresses
	strikes   *fakeStrikes
	meter     *fakeMeter
	pets      *fakePets
	orders    *fakeOrders
	requests  *fakeRequests
	usage     *fakeUsage
	keys      *fakeKeys
	webhooks  *fakeWebhooks
	sealer    *webhooks.Sealer
	failed    *fakeFailed
	own       *fakeOwn
	// key is acme's, on free; other is zoo's, on pro.
	key, other string
}

func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	w := &fixture{
		now: at, logs: &syncBuffer{}, registry: prometheus.NewRegistry(), limiter: limits.NewMemory(),
		directory: &fakeDirectory{callers: map[keys.Digest]*keys.Caller{}},
		addresses: &fakeAddresses{limit: 6000, used: map[netip.Addr]int64{}},
		strikes:   &fakeStrikes{}, meter: &fakeMeter{}, pets: newFakePets(),
	}
	w.orders = &fakeOrders{pets: w.pets, orders: map[int64][]catalog.Order{}}
	w.usage, w.failed, w.own = &fakeUsage{pets: w.pets}, &fakeFailed{}, &fakeOwn{pets: w.pets}
	w.requests = &fakeRequests{pets: w.pets, orders: w.orders, stored: map[scope]storedAnswer{}}
	w.keys, w.webhooks = newFakeKeys(w.pets, w.requests), newFakeWebhooks(w.pets, w.requests)
	sealer, err := webhooks.NewSealer(webhooks.NewKey())
	assert.NoError(t, err)
	w.sealer = sealer
	w.key = w.directory.issue(
		t,
		"key_acme",
		plans.Tenant{ID: 1, Name: "acme", Plan: plans.Free, Quota: plans.Quota{PerMinute: 60, PerDay: 1000}},
	)
	w.other = w.directory.issue(
		t,
		"key_zoo",
		plans.Tenant{ID: 2, Name: "zoo", Plan: plans.Pro, Quota: plans.Quota{PerMinute: 300, PerDay: 10000}},
	)
	c := Config{
		Stores: Stores{
			Pets:           w.pets,
			Orders:         w.orders,
			Requests:       w.requests,
			Usage:          w.usage,
			Failed:         w.own,
			Plans:          fakePlans{w.pets},
			Keys:           w.keys,
			FailedRequests: w.failed,
			Webhooks: Webhooks{
				Store: w.webhooks, Sealer: w.sealer, Rules: webhooks.NewRules([]uint16{443}, nil),
				Place: func(ctx context.Context, _ int64, call func(context.Context) error) error { return call(ctx) },
			},
		},
		Limits: Limits{
			Directory: w.directory,
			Limiter:   w.limiter,
			Addresses: w.addresses,
			Strikes:   w.strikes,
			Meter:     w.meter,
			BodyBytes: MinBodyBytes,
		},
		Site: Site{
			BaseURL: baseURL,
		},
		Instant: w.instant,
		Log:     zerolog.New(w.logs),
		Metrics: w.registry,
	}
	for _, f := range change {
		f(&c)
	}
	h, err := New(c)
	assert.NoError(t, err)
	w.Handler = h
	if _, ok := t.(*testing.T); ok {
		w.Handler = document(t).Handler(h, func(err error) { t.Error(err) })
	}
	return w
}

func (w *fixture) instant(time.Time) time.Time { return w.clock() }

func (w *fixture) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *fixture) setClock(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = now
}

// request makes a request of acme's; headers come in pairs, and an empty value removes one.
func (w *fixture) request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Add(headers[i], headers[i+1])
		}
	}
	return r
}

func (w *fixture) do(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// server returns a server of h whose connections have caches.
func server(h http.Handler) *http.Server { return &http.Server{Handler: h, ConnContext: ConnContext} }

// header reads a header in exactly that spelling.
func header(rec *httptest.ResponseRecorder, name string) string {
	if v := rec.Result().Header[name]; len(v) == 1 {
		return v[0]
	}
	return ""
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

type fakeDirectory struct {
	mu      sync.Mutex
	callers map[keys.Digest]*keys.Caller
	// uncached are keys of callers of which Find knows nothing.
	uncached map[keys.Digest]bool
	lookUps  int
	err      error
}

func (d *fakeDirectory) issue(t testing.TB, id string, tenant plans.Tenant) string {
	t.Helper()
	token, err := keys.NewToken(keys.Live)
	assert.NoError(t, err)
	d.callers[token.Digest()] = &keys.Caller{KeyID: id, Environment: keys.Live, Tenant: &tenant}
	return token.Reveal()
}

// change replaces a caller by a changed copy.
func (d *fakeDirectory) change(t testing.TB, key string, f func(*keys.Caller)) {
	t.Helper()
	token, err := keys.ParseToken(key)
	assert.NoError(t, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	c := *d.callers[token.Digest()]
	f(&c)
	d.callers[token.Digest()] = &c
}

// uncache makes Find know nothing of the key.
func (d *fakeDirectory) uncache(t testing.TB, key string) {
	t.Helper()
	token, err := keys.ParseToken(key)
	assert.NoError(t, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uncached = map[keys.Digest]bool{token.Digest(): true}
}

// setPlan gives acme another plan and quota.
func (w *fixture) setPlan(t testing.TB, plan string, q plans.Quota) {
	t.Helper()
	w.directory.change(
		t,
		w.key,
		func(c *keys.Caller) {
			c.Tenant = &plans.Tenant{ID: 1, Name: "acme", Plan: plan, Quota: q, Assignment: 7, Version: 2}
		},
	)
}

func (d *fakeDirectory) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *fakeDirectory) Find(_ context.Context, t keys.Token, _ time.Time) (*keys.Caller, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.callers[t.Digest()]
	switch {
	case !ok, d.uncached[t.Digest()]:
		return nil, keys.ErrNotCached
	case errors.As(d.err, new(keys.StatusError)):
		return c, d.err
	case d.err != nil:
		return nil, d.err
	case c.RevokedAt != 0:
		return c, keys.StatusError(keys.Revoked)
	}
	return c, nil
}

func (d *fakeDirectory) Lookup(_ context.Context, t keys.Token) (*keys.Caller, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookUps++
	if d.err != nil {
		return nil, d.err
	}
	c, ok := d.callers[t.Digest()]
	if !ok {
		return nil, keys.ErrInvalidKey
	}
	delete(d.uncached, t.Digest())
	return c, nil
}

// fakeAddresses counts by address in windows of the clock's minute.
type fakeAddresses struct {
	mu    sync.Mutex
	limit int64
	used  map[netip.Addr]int64
}

func (a *fakeAddresses) Take(addr netip.Addr, now time.Time) limiter.Context {
	return a.count(addr, now, 1)
}

func (a *fakeAddresses) Return(addr netip.Addr, now time.Time) { a.count(addr, now, -1) }

func (a *fakeAddresses) Peek(addr netip.Addr, now time.Time) limiter.Context {
	return a.count(addr, now, 0)
}

func (a *fakeAddresses) count(addr netip.Addr, now time.Time, n int64) limiter.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n != 0 {
		a.used[addr] += n
	}
	used := a.used[addr]
	return limiter.Context{
		Limit:     a.limit,
		Remaining: max(0, a.limit-used),
		Reset:     now.Unix() + 60,
		Reached:   used > a.limit,
	}
}

type fakeStrikes struct {
	mu      sync.Mutex
	refused []string
}

func (s *fakeStrikes) Refused(_ context.Context, c *keys.Caller, _ int64, _ time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, c.KeyID)
}

func (*fakeStrikes) NextBan(context.Context, string, time.Time) (time.Duration, error) {
	return 15 * time.Minute, nil
}

// fakeMeter counts for acme's key alone.
type fakeMeter struct {
	mu                                         sync.Mutex
	admitted, refused, refunded, flushed, used int
	// full has every request wait for Flush, which returns err.
	full bool
	err  error
	// usedUp are the windows that have refused a request.
	usedUp map[usage.Refusal]int
}

func (m *fakeMeter) count(n *int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*n++
}

func (m *fakeMeter) Admitted(usage.Bucket, time.Time, int64, int64) bool {
	m.count(&m.admitted)
	return !m.full
}
func (m *fakeMeter) Refused(usage.Bucket, time.Time) { m.count(&m.refused) }
func (m *fakeMeter) UsedUp(r usage.Refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.usedUp == nil {
		m.usedUp = map[usage.Refusal]int{}
	}
	m.usedUp[r]++
}
func (m *fakeMeter) Used(usage.Bucket, time.Time)            { m.count(&m.used) }
func (m *fakeMeter) Refunded(usage.Bucket, time.Time, int64) { m.count(&m.refunded) }

func (m *fakeMeter) Flush(context.Context) error {
	m.count(&m.flushed)
	return m.err
}

// fakeUsage has recorded what acme used, and fails as the catalogue does.
type fakeUsage struct {
	pets *fakePets
	// rateWindow is what was admitted since usage.RateWindowStart, last what was admitted and
	// refused on the last days, today's last.
	rateWindow int64
	last       [][2]int64
	// week is what was admitted since weekStart, all of it in periods.
	week      int64
	weekStart time.Time
	periods   []usage.PeriodUse
}

func (u *fakeUsage) UsageMonth(_ context.Context, tenantID int64, now time.Time) (usage.Month, error) {
	return call(u.pets, func() (usage.Month, error) {
		m := usage.NewMonth(now)
		if tenantID != 1 {
			return m, nil
		}
		m.RateWindow, m.Week, m.WeekStart, m.Periods = u.rateWindow, u.week, u.weekStart, u.periods
		for i, n := range u.last {
			m.Add(m.Days[len(m.Days)-len(u.last)+i].Date, n[0], n[1])
		}
		return m, nil
	})
}

func (u *fakeUsage) UsageReport(_ context.Context, tenantID int64, month, now time.Time) (usage.Report, error) {
	return call(u.pets, func() (usage.Report, error) {
		r := usage.NewReport(month, now)
		if tenantID != 1 {
			return r, nil
		}
		r.Correct(month.AddDate(0, -1, 0), 5, 1)
		for i, d := range r.Days {
			r.AddKey("key_0000000000000002", "", d.Date, int64(i), 1)
			r.AddKey("key_0000000000000001", "ci", d.Date, 10, 0)
		}
		return r, nil
	})
}

type fakeFailed struct {
	mu  sync.Mutex
	all []usage.FailedRequest
}

func (f *fakeFailed) Add(r usage.FailedRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Took = 0 // It is measured, not decided.
	f.all = append(f.all, r)
}

// fakeOwn has failed requests of acme's, the newest first, and fails as the catalogue does.
type fakeOwn struct {
	pets  *fakePets
	all   []usage.FailedDetail
	asked usage.FailedPage
}

func (f *fakeOwn) ListFailed(
	_ context.Context,
	tenantID int64,
	p usage.FailedPage,
) (list []usage.FailedRequest, more bool, err error) {
	_, err = call(f.pets, func() (bool, error) {
		f.asked = p
		for _, d := range f.all {
			if tenantID == d.TenantID && (p.After == 0 || d.Cursor() < p.After) {
				list = append(list, d.FailedRequest)
			}
		}
		return true, nil
	})
	return list[:min(p.Limit, len(list))], len(list) > p.Limit, err
}

func (*fakeOwn) ReplayHours(context.Context, int64, time.Time) ([]usage.Hour, error) { return nil, nil }

func (f *fakeOwn) GetFailed(_ context.Context, tenantID int64, id string, _, _ time.Time) (usage.FailedDetail, error) {
	return call(f.pets, func() (usage.FailedDetail, error) {
		for _, d := range f.all {
			if d.TenantID == tenantID && d.RequestID == id {
				return d, nil
			}
		}
		return usage.FailedDetail{}, usage.ErrFailedNotFound
	})
}

// routesOf are the routes of operations.
func routesOf(all []operation) (found []route) {
	for _, o := range all {
		found = append(found, o.route)
	}
	return found
}
