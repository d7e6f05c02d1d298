package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/wait"
)

// TestWritesOfGoneClientsAreNotBegun: a server stands still while clients send it every kind of
// write, close their connections, and have another server make newer changes. When it goes on it
// begins none of these writes, and answers a client that has waited.
func TestWritesOfGoneClientsAreNotBegun(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers, " servers"), func(t *testing.T) {
			t.Parallel()
			g := newGoneClients(t, servers)
			for n := range 50 {
				g.round(n)
			}
		})
	}
}

// goneClients are clients of the first server that do not wait for it.
type goneClients struct {
	*deployment
	servers        []*server
	tenant         *tenant
	register, free int64 // animals
	order          string
	other          key // which is changed
	open           []net.Conn
}

func newGoneClients(t *testing.T, servers int) *goneClients {
	t.Helper()
	d := newDeployment(t, servers > 1)
	g := &goneClients{deployment: d, servers: d.serveAll(servers, patientRedis)}
	g.tenant = d.tenant(plans.Enterprise, hugeQuota, 2)
	d.scope(g.tenant.keys[0], keys.ScopeManage)
	g.other = g.tenant.keys[1]
	ids := d.insertPets(g.tenant, 3)
	g.register, g.free = ids[0], ids[1]
	a := g.send(g.servers[0], http.MethodPost, "/store/orders", fmt.Sprintf(`{"petId":%d}`, ids[2]))
	assert.Equal(t, a.status, http.StatusCreated)
	g.order = fmt.Sprint("/store/orders/", idOf(a))
	g.unname()
	return g
}

func (g *goneClients) send(s *server, method, target, body string) response {
	return g.patient.do(g.t.Context(), method, s.URL+target, g.tenant.keys[0].token, body)
}

// abandoned are the writes of a round, each as method, target, body and a header. Changes of keys
// are few: a tenant makes two at a time.
func (g *goneClients) abandoned(n int) [][4]string {
	create, order := fmt.Sprintf(`{"name":"gone-%d","categoryId":7}`, n), fmt.Sprintf(`{"petId":%d}`, g.free)
	pet, key := fmt.Sprint("/pets/", g.register), fmt.Sprint("Idempotency-Key: gone-", n)
	ofKeys := [][4]string{
		{http.MethodPost, "/keys", `{"name":"gone"}`, ""},
		{http.MethodPost, "/keys", `{"name":"gone"}`, key},
		{http.MethodPatch, "/keys/" + g.other.id, fmt.Sprintf(`{"name":"gone %d"}`, n), ""},
		{http.MethodPost, "/keys/" + g.other.id + "/rotate", `{}`, ""},
		{http.MethodPost, "/keys/" + g.other.id + "/revoke", `{}`, ""},
	}
	return [][4]string{
		{http.MethodPatch, pet, fmt.Sprintf(`{"name":"gone-%d"}`, n), ""},
		{http.MethodPatch, pet, fmt.Sprintf(`{"name":"gone-%d"}`, n), "If-Match: *"},
		{http.MethodPatch, pet, `{"status":"pending"}`, ""},
		{http.MethodPost, "/pets", create, ""},
		{http.MethodPost, "/pets", create, key},
		{http.MethodPost, "/store/orders", order, ""},
		{http.MethodPost, "/store/orders", order, key},
		{http.MethodPatch, g.order, `{"status":"approved"}`, ""},
		ofKeys[n%len(ofKeys)],
		ofKeys[(n+2)%len(ofKeys)],
	}
}

// round stops the first server, sends it writes whose clients go, and lets it go on.
func (g *goneClients) round(n int) {
	t := g.t
	t.Helper()
	frozen, other := g.servers[0], g.servers[len(g.servers)-1]
	writes := g.abandoned(n)
	g.connect(frozen, len(writes))
	before := g.served(frozen)
	standStill(t, frozen)
	for i, w := range writes {
		g.abandon(frozen, w, i%3 == n%3, (i+n)%2 == 0)
	}
	waiting, pet, change := g.dial(frozen), fmt.Sprint("/pets/", g.free), fmt.Sprintf(`{"name":"waits-%d"}`, n)
	g.write(waiting, [4]string{http.MethodPatch, pet, change, ""})
	if other != frozen {
		a := g.send(other, http.MethodPatch, fmt.Sprint("/pets/", g.register), fmt.Sprintf(`{"name":"newer-%d"}`, n))
		assert.Equal(t, a.status, http.StatusOK, "a newer change")
	}
	rows := g.rows()
	assert.NoError(t, frozen.Signal(syscall.SIGCONT))
	res, err := http.ReadResponse(bufio.NewReader(waiting), nil)
	assert.NoError(t, err, "the client that waits")
	status := res.StatusCode
	if status == http.StatusServiceUnavailable { // not made: the machine was busy for a second
		status = g.send(frozen, http.MethodPatch, pet, change).status
	}
	assert.Equal(t, status, http.StatusOK, "the client that waits")
	_ = waiting.Close()
	wait.Until(t, "all requests served", func() bool { return g.served(frozen) >= before+len(writes)+1 })
	wait.Until(t, "no statement of the server", func() bool {
		return g.number(`select count(*) from pg_stat_activity where datname = current_database() and
			application_name = 'petstore_api' and (state <> 'idle' or xact_start is not null)`) == 0
	})
	waits := fmt.Sprintf("waits-%d", n)
	assert.DeepEqual(t, strings.ReplaceAll(g.rows(), waits, "x"), rows, "round", n, "what changed")
	g.unname()
}

// unname gives the animal of the client that waits the name that rows has for it.
func (g *goneClients) unname() { g.exec(`update pets set name = 'x' where id = $1`, g.free) }

// standStill stops a server, and waits until each of its threads has stopped.
func standStill(t testing.TB, s *server) {
	t.Helper()
	assert.NoError(t, s.Signal(syscall.SIGSTOP))
	wait.Until(t, "a server that stands still", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.PID()))
		assert.NoError(t, err)
		return len(threads) > 0 && !slices.ContainsFunc(threads, func(file string) bool {
			_, state, _ := strings.Cut(programs.Read(t, file), ") ")
			return !strings.HasPrefix(state, "T")
		})
	})
}

// connect opens connections on which the server has served a request, one for each write.
func (g *goneClients) connect(s *server, connections int) {
	g.open = nil
	for range connections {
		c := g.dial(s)
		g.write(c, [4]string{http.MethodGet, "/pets?limit=1", "", ""})
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		assert.NoError(g.t, err)
		assert.Equal(g.t, res.StatusCode, http.StatusOK)
		g.open = append(g.open, c)
	}
}

func (g *goneClients) dial(s *server) net.Conn {
	c, err := net.Dial("tcp", s.Addr)
	assert.NoError(g.t, err)
	g.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (g *goneClients) write(c net.Conn, w [4]string) {
	head := fmt.Sprintf("%s /v1%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n", w[0], w[1],
		g.tenant.keys[0].token)
	if w[2] != "" {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(w[2]))
	}
	if w[3] != "" {
		head += w[3] + "\r\n"
	}
	_, err := c.Write([]byte(head + "\r\n" + w[2]))
	assert.NoError(g.t, err)
}

// abandon sends a write and closes its connection, which is new or was used before. With reset the
// client's machine answers no longer.
func (g *goneClients) abandon(s *server, w [4]string, isNew, reset bool) {
	c := g.open[0]
	g.open = g.open[1:]
	if isNew {
		c = g.dial(s)
	}
	g.write(c, w)
	if reset {
		_ = c.(*net.TCPConn).SetLinger(0)
	}
	_ = c.Close()
}

// served is how many requests the server has answered, or not.
func (g *goneClients) served(s *server) (n int) {
	_, text := s.Ask("/metrics")
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "petstore_http_requests_total{") {
			_, value, _ := strings.Cut(line, "} ")
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			assert.NoError(g.t, err, line)
			n += int(v)
		}
	}
	return n
}

// rows returns all that customers write, as text. Keys have a time of use besides.
func (g *goneClients) rows() (rows string) {
	g.scan(&rows, `select string_agg(r, e'\n' order by r) from (
		select concat_ws(' ', id, name, category_id, status) as r from pets
		union all select concat_ws(' ', 'order', id, pet_id, status) from orders
		union all select 'key ' || key from idempotency_keys
		union all select concat_ws(' ', 'api key', id, name, scope, revoked_at, expires_at) from api_keys) all_rows`)
	return rows
}
