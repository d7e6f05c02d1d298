package billing_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/lib/pq"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/ulule/limiter/v3"
	"go.uber.org/goleak"

	"petstore.example/internal/api"
	"petstore.example/internal/catalog"
	"petstore.example/internal/ctl"
	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/limits"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(storetest.Suite{M: m}) }

// fixture is a deployment of three servers and its staff, at the time of its clock.
type fixture struct {
	t        *testing.T
	database *storetest.Database
	sql      *sql.DB   // as the owner
	store    *store.DB // as servers
	now      *atomic.Pointer[time.Time]
	servers  []*server
	// notify has servers hear of a change.
	notify func()
	issued []keys.Token
	// record is what meters write to.
	record usage.Store
	pets   *animals
}

// server is one of them: its handler, and what it counted and has not written yet.
type server struct {
	fixture   *fixture
	api       http.Handler
	directory *callers.Directory
	meter     *usage.Meter
}

// newFixture returns a fixture. Its servers record through what record makes of the store.
func newFixture(t *testing.T, now time.Time, record func(usage.Store) usage.Store) *fixture {
	t.Helper()
	f := &fixture{t: t, database: storetest.New(t), now: new(atomic.Pointer[time.Time])}
	f.set(now)
	var err error
	f.sql, err = sql.Open("postgres", f.database.URL)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = f.sql.Close() })
	f.store = storetest.Open(t, f.database.APIURL, store.Options{AsAPI: true, Timeout: 20 * time.Second})
	f.record, f.pets, f.notify = record(f.store.Usage), &animals{}, f.notifyAll
	shared := limits.NewMemory()
	for i := range 3 {
		f.servers = append(f.servers, f.serve(fmt.Sprint("server-", i+1), shared))
	}
	return f
}

func (f *fixture) set(now time.Time) { f.now.Store(&now) }

func (f *fixture) clock() time.Time { return *f.now.Load() }

// serve starts a server.
func (f *fixture) serve(id string, shared limits.Limiter) *server {
	f.t.Helper()
	s := &server{
		fixture:   f,
		directory: callers.NewDirectory(f.store.Keys, keys.Live, f.clock),
		meter:     usage.NewMeter(f.record, usage.Options{ServerID: id, Clock: f.clock, Log: zerolog.Nop()}),
	}
	// Until the test ends a caller is looked up anew only because of a change.
	s.directory.FeedProven(time.Now().Add(time.Hour))
	var err error
	s.api, err = api.New(api.Config{
		Stores: api.Stores{
			Pets:     f.pets,
			Orders:   f.store.Orders,
			Requests: f.store.Idempotency,
			Usage:    f.store.Usage,
			Failed:   f.store.FailedRequests,
			Plans:    f.store.PriceList,
		},
		Limits: api.Limits{
			Directory: s.directory,
			Limiter:   shared,
			Addresses: nobody{},
			Strikes:   nobody{},
			Meter:     s.meter,
			BodyBytes: api.MinBodyBytes,
		},
		Site: api.Site{
			BaseURL: "https://api.example.com/v1",
		},
		Instant: func(time.Time) time.Time { return f.clock() },
		Log:     zerolog.Nop(),
		Metrics: prometheus.NewRegistry(),
	})
	assert.NoError(f.t, err)
	return s
}

// nobody has no addresses without keys and bans no key.
type nobody struct{}

func (nobody) Take(netip.Addr, time.Time) limiter.Context                        { return limiter.Context{} }
func (nobody) Peek(netip.Addr, time.Time) limiter.Context                        { return limiter.Context{} }
func (nobody) Return(netip.Addr, time.Time)                                      {}
func (nobody) Refused(context.Context, *keys.Caller, int64, time.Time)           {}
func (nobody) NextBan(context.Context, string, time.Time) (time.Duration, error) { return 0, nil }

// animals is a catalogue without animals.
type animals struct {
	catalog.Store
	down bool
}

// ListPets implements catalog.Store.
func (a *animals) ListPets(context.Context, int64, catalog.Page) ([]catalog.Pet, int64, error) {
	if a.down {
		return nil, 0, catalog.ErrUnavailable
	}
	return nil, 0, nil
}

// list is the request that counts.
const list = "/v1/pets"

func (f *fixture) notifyAll() {
	for _, s := range f.servers {
		s.changed()
	}
}

// changed has the server hear of a change, and know the keys again: a request waits only 0.4 s for
// that.
func (s *server) changed() {
	s.directory.AllChanged()
	for _, k := range s.fixture.issued {
		wait.Until(s.fixture.t, "a server knows a key", func() bool {
			_, err := s.directory.Lookup(s.fixture.t.Context(), k)
			return !errors.Is(err, keys.ErrUnavailable)
		})
	}
}

// exec runs a statement as the owner of the database.
func (f *fixture) exec(query string, args ...any) {
	f.t.Helper()
	_, err := f.sql.ExecContext(f.t.Context(), query, args...)
	assert.NoError(f.t, err)
}

// ctl runs petstorectl as the owner of the database and returns what it prints. It fails the test
// if the command fails.
func (f *fixture) ctl(line string) string {
	f.t.Helper()
	out, messages, code := f.try(line)
	if code != cmdutil.ExitOK {
		f.t.Fatalf("petstorectl %s: exit %d: %s", line, code, messages)
	}
	return out
}

// try runs petstorectl at the time of the clock. The servers hear of what it changed.
func (f *fixture) try(line string) (stdout, stderr string, code int) {
	f.t.Helper()
	var out, messages bytes.Buffer
	c := cmdutil.NewFactory(&cmdutil.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &messages})
	defer c.Close()
	c.Clock = f.clock
	c.Getenv = func(name string) string {
		return map[string]string{"PETSTORE_DATABASE_URL": f.database.URL, "PETSTORE_ACTOR": "jo@billing"}[name]
	}
	code = ctl.Run(f.t.Context(), c, strings.Fields(line))
	f.notify()
	return out.String(), messages.String(), code
}

// issue issues a key.
func (f *fixture) issue(tenant string) string {
	f.t.Helper()
	var k struct{ Key string }
	assert.NoError(f.t, json.Unmarshal([]byte(f.ctl("key issue "+tenant+" --environment live -o json")), &k))
	token, err := keys.ParseToken(k.Key)
	assert.NoError(f.t, err)
	f.issued = append(f.issued, token)
	f.notifyAll()
	return k.Key
}

// get sends a request with that key.
func (s *server) get(path, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.fixture.t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer "+key)
	rec := httptest.NewRecorder()
	s.api.ServeHTTP(rec, r)
	return rec
}

// headerOf returns a header in exactly that spelling.
func headerOf(rec *httptest.ResponseRecorder, name string) string {
	return strings.Join(rec.Header()[name], ", ")
}

// line is a line of an export.
type line struct {
	Month      string
	Tenant     string
	Plan       string
	PerMinute  int64 `json:"per_minute"`
	PerDay     int64 `json:"per_day"`
	From, To   *time.Time
	Admitted   int64
	Refused    int64
	Assignment int64
	Version    int64
	Kind       string
	Suspended  int64 `json:"suspended_seconds"`
	Corrects   string
	Void       bool
	SHA256     string
}

// export returns the lines of a month, and its total.
func (f *fixture) export(month string) (lines []line, total line) {
	f.t.Helper()
	if err := json.Unmarshal(
		[]byte(f.ctl("usage export --month "+month+" -o json")),
		&lines,
	); err != nil ||
		len(lines) == 0 {
		f.t.Fatalf("export of %s: %v", month, err)
	}
	last := len(lines) - 1
	return lines[:last], lines[last]
}
