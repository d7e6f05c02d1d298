package alerts_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(programs.Suite{M: storetest.Suite{M: m}}) }

// root is the repository, seen from here.
const root = "../../../"

// deployment is servers under a light load. They reach Postgres by a way that can be cut, and the
// second one Redis too.
type deployment struct {
	t               *testing.T
	database        *storetest.Database
	redis           *redistest.Server
	postgres, toTwo *way
	// staffURL leads by the same way.
	staffURL string
	// env is of each server.
	env     [][]string
	servers []*programs.Server
	addrs   []string
	token   string
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	f := &deployment{t: t, database: storetest.New(t), redis: redistest.New(t), postgres: &way{}, toTwo: &way{}}
	f.ownClock()
	f.staffURL = storetest.ProxyURL(t, storetest.As(t, f.database.URL, storetest.SupportLogin), f.postgres.relay)
	databaseURL := storetest.ProxyURL(t, f.database.APIURL, f.postgres.relay)
	// Three: with two, one that is cut off is so for five seconds alone, and then both leave Redis.
	for _, redisAddr := range []string{f.redis.Addr, storetest.Proxy(t, "tcp", f.redis.Addr, f.toTwo.relay),
		f.redis.Addr} {
		f.add("PETSTORE_DATABASE_URL="+databaseURL, "PETSTORE_REDIS_URL=redis://"+redisAddr+"/0")
	}
	staff := storetest.Open(t, storetest.As(t, f.database.URL, storetest.SupportLogin), store.Options{MaxConns: 2})
	own := &plans.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}
	f.token = storetest.IssueKey(t, staff, tenancy.NewTenant{Name: "acme", Plan: plans.Enterprise, Own: own})
	return f
}

// add starts one more server, which has the same addresses when it starts again.
func (f *deployment) add(env ...string) {
	f.t.Helper()
	s := programs.Serve(f.t, programs.Path(f.t, "petstore"), env...)
	f.servers, f.addrs = append(f.servers, s), append(f.addrs, s.Addr)
	f.env = append(f.env, append(env, "PETSTORE_ADDR="+s.Addr, "PETSTORE_ADMIN_ADDR="+s.Admin))
}

func (f *deployment) admins() (all []string) {
	for _, s := range f.servers {
		all = append(all, s.Admin)
	}
	return all
}

func (f *deployment) start(i int) {
	f.t.Helper()
	f.servers[i] = programs.Serve(f.t, programs.Path(f.t, "petstore"), f.env[i]...)
}

// load sends 40 requests a second to the servers until the test ends.
func (f *deployment) load() {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					f.send(client, i)
				}
			}
		})
	}
	f.t.Cleanup(func() {
		close(stop)
		callers.Wait()
		client.CloseIdleConnections()
	})
}

// send sends one request, whose outcome does not matter.
func (f *deployment) send(client *http.Client, i int) {
	method, body := http.MethodGet, ""
	if i < 2 {
		method, body = http.MethodPost, `{"name":"Rex","categoryId":7}`
	}
	req, err := http.NewRequest(method, "http://"+f.addrs[i%len(f.addrs)]+"/v1/pets", strings.NewReader(body))
	if err != nil {
		f.t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+f.token)
	req.Header.Set("Content-Type", "application/json")
	if res, err := client.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

// way is a way to a server. While it is cut, connections on it end at once.
type way struct {
	cut  atomic.Bool
	mu   sync.Mutex
	open map[net.Conn]bool
}

func (w *way) relay(client, server net.Conn) {
	w.note(true, client, server)
	defer w.note(false, client, server)
	if w.cut.Load() {
		return
	}
	var both sync.WaitGroup
	copyTo := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_, _ = to.Close(), from.Close()
	}
	both.Go(func() { copyTo(server, client) })
	both.Go(func() { copyTo(client, server) })
	both.Wait()
}

func (w *way) note(open bool, conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[net.Conn]bool{}
	}
	for _, c := range conns {
		if open {
			w.open[c] = true
			continue
		}
		delete(w.open, c)
		_ = c.Close()
	}
}

func (w *way) set(cut bool) {
	w.cut.Store(cut)
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
}

// promtool runs promtool, and returns its output and whether it succeeded.
func promtool(t *testing.T, dir, stdin string, args ...string) (output string, ok bool) {
	t.Helper()
	cmd := sandbox.Command(t, "promtool", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}
