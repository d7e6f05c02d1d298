package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// lateWrites are two servers with one Redis. What the first sends to Postgres can be held up.
type lateWrites struct {
	*deployment
	way            heldWay
	stalled, other *server
	tenant, second *tenant
	pets           []int64
	// backends are those of the first server.
	backends pq.Int64Array
}

func newLateWrites(t *testing.T, databaseURL string, pets int) *lateWrites {
	t.Helper()
	w := &lateWrites{deployment: newDeploymentOn(t, databaseURL, redistest.New(t).URL)}
	w.stalled = w.serve("PETSTORE_DATABASE_URL=" + storetest.ProxyURL(t, w.serverURL, w.way.relay))
	w.tenant = w.deployment.tenant(plans.Enterprise, hugeQuota, 1)
	w.pets = w.insertPets(w.tenant, pets)
	// As many connections as it needs, with their statements prepared.
	for _, a := range sendAtOnce(12,
		func(i int) response { return w.rename(w.patient, w.stalled, w.pets[i%pets], "n-0") }) {
		if a.status != http.StatusOK {
			t.Fatal(a)
		}
	}
	w.scan(
		&w.backends,
		`select array_agg(pid) from pg_stat_activity where datname = current_database() and application_name =
			'petstore_api'`,
	)
	w.other = w.serve()
	return w
}

// rename sends a PATCH once with c.
func (w *lateWrites) rename(c *client, s *server, pet int64, name string) response {
	return c.do(
		context.Background(),
		http.MethodPatch,
		fmt.Sprintf("%s/pets/%d", s.URL, pet),
		w.tenant.keys[0].token,
		fmt.Sprintf(`{"name":%q}`, name),
	)
}

// TestNothingHappensLate sends every kind of write while one server's way to Postgres is disturbed,
// and then changes the same animals by another server. What the database says then is what it says
// when the disturbance is over, and no list goes back.
func TestNothingHappensLate(t *testing.T) {
	t.Parallel()
	rounds, longest := 2, 2*time.Second
	if long() {
		rounds, longest = 40, time.Minute
	}
	for name, disturb := range map[string]func(*lateWrites) (end func()){
		"all bytes are held":   func(w *lateWrites) func() { return w.way.hold(everything) },
		"only Syncs are held":  func(w *lateWrites) func() { return w.way.hold(syncs) },
		"backends are stopped": (*lateWrites).stopBackends,
		"a row lock is held":   (*lateWrites).lockRows,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := func(t testing.TB) string { return storetest.New(t).URL }
			// No database of a Postgres is created or dropped while one of its processes stands
			// still.
			if name == "backends are stopped" {
				url = func(t testing.TB) string { return storetest.NewServer(t).URL }
			}
			w := newLateWrites(t, url(t), 2)
			w.second = w.deployment.tenant(plans.Enterprise, hugeQuota, 1)
			lists := &registerLoad{
				registers: newRegisters(w.pets),
				d:         w.deployment,
				tenant:    w.tenant,
				servers:   make([]atomic.Pointer[server], 2),
			}
			lists.servers[0].Store(w.stalled)
			lists.servers[1].Store(w.other)
			ctx, stop := context.WithCancel(t.Context())
			var readers sync.WaitGroup
			for i := range uint64(2) {
				readers.Go(func() { lists.read(ctx, rand.New(rand.NewPCG(staleSeed, i))) })
			}
			rnd := rand.New(rand.NewPCG(staleSeed, 0))
			w.round(lists, 0, disturb, 0) // Postgres itself ends a transaction that is silent for 3 s.
			for n := range rounds - 1 {
				w.round(lists, n+1, disturb, time.Second+time.Duration(rnd.Int64N(int64(longest))))
			}
			stop()
			readers.Wait()
			if n := lists.stale.Load(); n > 0 || lists.reads.Load() == 0 {
				t.Errorf("%d of %d lists went back, the first: %s", n, lists.reads.Load(), lists.first)
			}
		})
	}
}

// round makes one disturbance, which lasts that long after the last response.
func (w *lateWrites) round(lists *registerLoad, n int, disturb func(*lateWrites) func(), lasts time.Duration) {
	t := w.t
	t.Helper()
	wait.Until(t, "a server that reaches Postgres", func() bool { return w.stalled.Ready().Status == "ready" })
	for i := range lists.started {
		lists.started[i].Store(int64(2*n + 2))
	}
	changed := func(i int, a response, to int) {
		if a.status == http.StatusOK {
			raise(&lists.floor[i], int64(to))
		}
	}
	writes := w.writes(n)
	end := sync.OnceFunc(disturb(w))
	t.Cleanup(end)
	answers := sendAtOnce(len(writes), func(i int) response { return writes[i]() })
	for i := range w.pets {
		changed(i, answers[i], 2*n+1)
		changed(i, w.rename(w.client, w.other, w.pets[i], fmt.Sprintf("n-%d", 2*n+2)), 2*n+2)
	}
	before := w.rows()
	time.Sleep(lasts) // the disturbance
	end()
	wait.Until(t, "a Postgres that has done what it was sent", w.way.settled)
	assert.DeepEqual(t, w.rows(), before, "round", n, "a late effect")
	t.Logf("round %d: %v", n, countByCode(answers))
	// Later the server may have other backends than those that are stopped.
	if n == 0 && countByCode(answers)["503 outcome_unknown"]+countByCode(answers)["503 unavailable"] == 0 {
		t.Errorf("nothing was shown: %v", countByCode(answers))
	}
}

// writes returns one of each kind, to the first server. The first two change the animals, one of
// them with If-Match.
func (w *lateWrites) writes(n int) []func() response {
	fresh := w.insertPets(w.second, 2)
	order := w.do(w.patient, w.other, w.second, http.MethodPost, "/store/orders", fmt.Sprintf(`{"petId":%d}`, fresh[0]))
	_, target, _ := strings.Cut(order.header.Get("Location"), "/v1")
	tag := w.do(
		w.patient,
		w.other,
		w.tenant,
		http.MethodGet,
		fmt.Sprintf("/pets?ids=%d", w.pets[1]),
		"",
	).header.Get("ETag")
	c, s, rename := w.client, w.stalled, fmt.Sprintf(`{"name":"n-%d"}`, 2*n+1)
	all := []func() response{
		func() response {
			return w.do(c, s, w.tenant, http.MethodPatch, fmt.Sprintf("/pets/%d", w.pets[0]), rename)
		},
		func() response {
			return w.do(c, s, w.tenant, http.MethodPatch, fmt.Sprintf("/pets/%d", w.pets[1]), rename, "If-Match", tag)
		},
		func() response {
			return w.do(c, s, w.second, http.MethodPost, "/store/orders", fmt.Sprintf(`{"petId":%d}`, fresh[1]))
		},
		func() response {
			return w.do(c, s, w.second, http.MethodPatch, target, `{"status":"approved"}`)
		},
	}
	for i := range 6 {
		for _, tn := range []*tenant{w.tenant, w.second} {
			all = append(all, func() response {
				headers := []string{"Idempotency-Key", fmt.Sprintf("%d-%d", n, i)}
				return w.do(
					c,
					s,
					tn,
					http.MethodPost,
					"/pets",
					fmt.Sprintf(`{"name":"%d-%d","categoryId":1}`, n, i),
					headers[:i%2*2]...)
			})
		}
	}
	return all
}

func (w *lateWrites) do(c *client, s *server, tn *tenant, method, target, body string, headers ...string) response {
	return c.do(context.Background(), method, s.URL+target, tn.keys[0].token, body, headers...)
}

// rows returns all rows of customers as text.
func (w *lateWrites) rows() (rows string) {
	w.scan(&rows, `select string_agg(r, e'\n' order by r) from (
		select p::text as r from pets p union all select o::text from orders o union all select key from
			idempotency_keys) all_rows`)
	return rows
}

// stopBackends stops the processes of Postgres that serve the first server and are idle.
func (w *lateWrites) stopBackends() (end func()) {
	signal := func(s syscall.Signal) {
		for _, pid := range w.backends {
			_ = syscall.Kill(int(pid), s) // It may have ended.
		}
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}

// lockRows locks the animals, and the tenants that own them.
func (w *lateWrites) lockRows() (end func()) {
	tx, err := w.sql.BeginTx(w.t.Context(), nil)
	for _, table := range []string{"pets", "orders", "tenants"} {
		if err == nil {
			_, err = tx.Exec(`select from ` + table + ` for update`)
		}
	}
	assert.NoError(w.t, err)
	return func() { _ = tx.Rollback() }
}
