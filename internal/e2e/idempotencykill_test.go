package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/wait"
)

// longestInProgress bounds how long a request of a dead server may be in progress. The API promises 60 s. Postgres notices closed
// connections at once, and ends the transactions of a paused server after 3 s.
const longestInProgress = 20 * time.Second

// TestKilledServerWithKeys kills or pauses a server at random times under a load of requests with idempotency keys. Requests without a
// response are sent again to the other server, with the same keys. Each takes effect once.
func TestKilledServerWithKeys(t *testing.T) {
	t.Parallel()
	const seed = 20301205
	rounds := 8
	if long() {
		rounds = 60
	}
	d := newDeployment(t, false)
	random := rand.New(rand.NewPCG(seed, 0))
	survivor := d.serve()
	var all killRound
	for round := range rounds {
		k := &killRound{deployment: d, survivor: survivor, victim: d.serve(), tn: d.tenant(plans.Enterprise, hugeQuota, 1), pets: map[int64]string{}, orders: map[int64]string{}}
		k.forSale = d.insertPets(k.tn, 2000)
		customers := k.start(t.Context())
		wait.Until(t, "requests that are answered", func() bool { return k.answered.Load() > 50 })
		time.Sleep(time.Duration(random.Int64N(int64(400 * time.Millisecond)))) // the server dies at some time
		how := "kill -9"
		switch {
		case round == rounds-1:
			how = "paused, for good"
			k.pause()
			customers.Wait()
		case round%2 == 1:
			paused := time.Duration(random.Int64N(int64(500 * time.Millisecond)))
			how = fmt.Sprintf("paused, kill -9 after %v", paused.Round(time.Millisecond))
			k.pause()
			time.Sleep(paused) // it is frozen that long
		}
		k.victim.kill()
		customers.Wait()
		k.abandon()
		t.Logf("seed %d, round %d, %s: %d answered, %d not, of which %d had taken effect; in progress for %v at most, %d × 409",
			seed, round, how, k.answered.Load(), k.retried, k.replays, k.longest.Round(time.Millisecond), k.refusals)
		k.check()
		all.retried += k.retried
		all.replays += k.replays
		all.longest = max(all.longest, k.longest)
	}
	t.Logf("%d rounds: %d requests sent again, %d of which had taken effect; in progress for %v at most, and 60 s are promised",
		rounds, all.retried, all.replays, all.longest.Round(time.Millisecond))
}

// killRound is one round of TestKilledServerWithKeys.
type killRound struct {
	*deployment
	survivor, victim *server
	tn               *tenant
	abandon          context.CancelFunc // ends the requests to the victim
	forSale          []int64            // animals without an order
	next             atomic.Int64
	answered         atomic.Int64

	mu sync.Mutex
	// What the callers received: the names of animals and the quantities of orders by id. All are different.
	pets, orders     map[int64]string
	retried, replays int
	refusals         int
	longest          time.Duration
}

// start starts callers that send requests until the victim is dead and their last requests are done.
func (k *killRound) start(ctx context.Context) *sync.WaitGroup {
	var customers sync.WaitGroup
	ctx, k.abandon = context.WithCancel(ctx)
	for range 16 {
		customers.Go(func() {
			for k.one(ctx) {
			}
		})
	}
	return &customers
}

// pause suspends the victim, so that its connections stay open, and cancels the requests to it.
func (k *killRound) pause() {
	if err := k.victim.Signal(syscall.SIGSTOP); err != nil {
		k.t.Error(err)
	}
	k.abandon()
}

// one sends a request and reports whether the victim responded.
func (k *killRound) one(ctx context.Context) bool {
	n := k.next.Add(1) - 1
	r, value := idempotentPost{"/pets", fmt.Sprintf(`{"name":"made %d","categoryId":7}`, n), fmt.Sprintf("key-%d", n)}, fmt.Sprintf("made %d", n)
	if n%2 == 1 && int(n/2) < len(k.forSale) {
		r.path, r.body, value = "/store/orders", fmt.Sprintf(`{"petId":%d,"quantity":%d}`, k.forSale[n/2], n), fmt.Sprint(n)
	}
	a := k.patient.idempotentPost(ctx, k.victim, k.tn.keys[0].token, r)
	answered := a.err == nil
	if !answered {
		a = k.retry(r)
	} else if replayed(a) {
		k.t.Errorf("%s was replayed to its first request", r.key)
	}
	if a.status != http.StatusCreated {
		k.t.Errorf("%s: %v, want 201", r.key, a)
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.path == "/pets" {
		k.pets[idOf(a)] = value
	} else {
		k.orders[idOf(a)] = value
	}
	if answered {
		k.answered.Add(1)
	}
	return answered
}

// retry sends the request to the other server until it is no longer in progress.
func (k *killRound) retry(r idempotentPost) response {
	began := time.Now()
	var refused time.Duration
	for refusals := 0; ; refusals++ {
		a := k.patient.idempotentPost(k.t.Context(), k.survivor, k.tn.keys[0].token, r)
		if a.code == "idempotency_in_progress" {
			refused = a.got.Sub(began)
			if refused < longestInProgress {
				time.Sleep(10 * time.Millisecond) // before the request is sent again
				continue
			}
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.retried++
		if replayed(a) {
			k.replays++
		}
		k.refusals += refusals
		k.longest = max(k.longest, refused)
		return a
	}
}

// check compares what the callers received with what is stored, and expects one stored response for each key.
func (k *killRound) check() {
	k.t.Helper()
	if diff := cmp.Diff(k.pets, k.values(`select coalesce(json_object_agg(id, name), '{}') from pets where tenant_id = $1 and name like 'made %'`)); diff != "" {
		k.t.Errorf("animals (-received +stored):\n%s", diff)
	}
	if diff := cmp.Diff(k.orders, k.values(`select coalesce(json_object_agg(id, quantity::text), '{}') from orders where tenant_id = $1`)); diff != "" {
		k.t.Errorf("orders (-received +stored):\n%s", diff)
	}
	if got, want := k.number(`select count(*) from idempotency_keys where tenant_id = $1`, k.tn.ID), int64(len(k.pets)+len(k.orders)); got != want || want != k.next.Load() {
		k.t.Errorf("%d responses are stored for %d animals and orders of %d keys", got, want, k.next.Load())
	}
}

// values returns what the query selects: a JSON object of values by id.
func (k *killRound) values(query string) map[int64]string {
	k.t.Helper()
	var object []byte
	found := map[int64]string{}
	k.scan(&object, query, k.tn.ID)
	if err := json.Unmarshal(object, &found); err != nil {
		k.t.Fatal(err)
	}
	return found
}
