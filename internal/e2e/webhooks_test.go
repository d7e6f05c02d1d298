package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"

	petstoreclient "petstore.example/client"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
	"petstore.example/internal/webhooks"
)

// told is a customer's server: what it was told of, verified as customers verify it.
type told struct {
	t      testing.TB
	url    string
	secret string

	mu sync.Mutex
	// events are how often each event came, by its ID. pets are those that were created, by their IDs.
	events map[string]int
	types  map[string]int
	pets   map[string]int
	flying int
	most   int
	// takes is how long an answer takes.
	takes time.Duration
}

func newTold(t testing.TB) *told {
	t.Helper()
	r := &told{t: t, events: map[string]int{}, types: map[string]int{}, pets: map[string]int{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/hooks"
	return r
}

func (r *told) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.flying++
	r.most = max(r.most, r.flying)
	r.mu.Unlock()
	time.Sleep(r.takes) // as a slow receiver
	body, err := io.ReadAll(req.Body)
	event, wrong := petstoreclient.VerifyWebhook([]string{r.secret}, req.Header, body, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flying--
	if err != nil { // Its sender was killed.
		return
	}
	if wrong != nil {
		r.t.Errorf("%v: %s", wrong, body)
		return
	}
	r.events[event.ID]++
	if r.events[event.ID] > 1 {
		return
	}
	r.types[event.Type]++
	var data struct{ ID string }
	if event.Type == "pet.created" {
		if err := json.Unmarshal(event.Data, &data); err != nil {
			r.t.Errorf("%v: %s", err, body)
		}
		r.pets[data.ID]++
	}
}

// count is how often something of that type was told of.
func (r *told) count(kind string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.types[kind]
}

// sending are servers that may send to this machine: each is a petstore dev on the deployment's
// database, with the same key.
type sending struct {
	*deployment
	dir string
}

func newSending(t testing.TB) sending {
	t.Helper()
	return sending{newDeployment(t, true), filepath.Join(openDir(t, 0), "store")}
}

func (d sending) serve() *server {
	d.t.Helper()
	env := []string{"PETSTORE_DATABASE_URL=" + d.databaseURL, "PETSTORE_REDIS_URL=" + d.redisURL}
	return &awaitDev(d.t, d.dir, devCommand(d.t, d.dir, 0), env...).server
}

// endpoint adds an endpoint of a tenant whose first key may manage keys, and has it answer a ping.
func (d sending) endpoint(tn *tenant, to *told, events ...string) {
	d.t.Helper()
	api, by, id := d.pending(tn, to, programs.Read(d.t, filepath.Join(d.dir, "secrets-key")), events...)
	wait.Until(d.t, "the endpoint is enabled", func() bool {
		got, err := api.Endpoints.Get(d.t.Context(), by, id)
		return err == nil && got.Status == webhooks.Enabled
	})
}

// pending adds an endpoint of a tenant whose first key may manage keys, and has it sent a ping.
func (d *deployment) pending(
	tn *tenant, to *told, key string, events ...string,
) (api *store.DB, by webhooks.Requester, id int64) {
	d.t.Helper()
	d.scope(tn.keys[0], keys.ScopeManage)
	sealer, err := webhooks.NewSealer(key)
	assert.NoError(d.t, err)
	var secret []byte
	secret, to.secret = webhooks.NewSecret()
	api = storetest.Open(d.t, d.serverURL, store.Options{AsAPI: true, MaxConns: 1})
	token, err := keys.ParseToken(tn.keys[0].token)
	assert.NoError(d.t, err)
	by = webhooks.Requester{TenantID: tn.ID, Digest: token.Digest()}
	made, err := api.Endpoints.Create(d.t.Context(), by, webhooks.NewEndpoint{URL: to.url, Events: events},
		func(id int64) webhooks.Sealed { return sealer.Seal(id, secret) }, nil)
	assert.NoError(d.t, err)
	_, err = api.Endpoints.Test(d.t.Context(), by, made.ID)
	assert.NoError(d.t, err)
	return api, by, made.ID
}

// create adds an animal as psql would, and returns its ID.
func (d sending) create(tn *tenant, name string) string {
	d.t.Helper()
	return strconv.FormatInt(d.number(`insert into pets (tenant_id, name, category_id, status, created_at)
		values ($1, $2, 1, 'available', now()) returning id`, tn.ID, name), 10)
}

// TestKilledSenders: animals are created while one of three servers is killed again and again. Each
// that was committed is told of at least once, none that was not, and never more than two requests
// are in flight to the endpoint. make soak does it for longer.
func TestKilledSenders(t *testing.T) {
	t.Parallel()
	d, lasting := newSending(t), 10*time.Second
	if long() {
		lasting = time.Minute
	}
	servers := []*server{d.serve()}
	for range 2 {
		servers = append(servers, d.serve())
	}
	tn, to := d.tenant(plans.Enterprise, hugeQuota, 1), newTold(t)
	d.endpoint(tn, to, "pet.created", "key.issued", "key.revoked")
	var created []string
	stop := make(chan struct{})
	var creating sync.WaitGroup
	creating.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				created = append(created, d.create(tn, fmt.Sprint(n)))
			}
		}
	})
	issued := 0
	for begun := time.Now(); time.Since(begun) < lasting; issued++ {
		time.Sleep(2 * time.Second) // for work between two kills
		k := d.issue(tn.Name)
		_, err := d.service().Revoke(t.Context(), testActor, k.id)
		assert.NoError(t, err)
		servers[issued%3].Kill()
		servers[issued%3] = d.serve()
	}
	close(stop)
	creating.Wait()
	wait.Until(t, "all are told of", func() bool {
		return to.count("pet.created") >= len(created) && to.count("key.revoked") >= issued
	}, func() any { return fmt.Sprint(to.types, len(created)) })
	to.mu.Lock()
	defer to.mu.Unlock()
	twice := 0
	for _, n := range to.events {
		twice += n - 1
	}
	t.Logf("%d animals created, %d servers killed; %v, %d of them again", len(created), issued, to.types, twice)
	var ids []int64
	for id, n := range to.pets {
		assert.Equal(t, n, 1, "events of animal", id)
		n, err := strconv.ParseInt(id, 10, 64)
		assert.NoError(t, err)
		ids = append(ids, n)
	}
	stored := d.number(`select count(*) from pets where id = any ($1) and tenant_id = $2`, pq.Array(ids), tn.ID)
	assert.Equal(t, stored, int64(len(ids)), "of the animals that were told of, are stored")
	for _, id := range created {
		assert.Equal(t, to.pets[id], 1, "animal", id)
	}
	assert.Equal(t, to.types["key.issued"], issued)
	assert.True(t, to.most >= 1 && to.most <= webhooks.Slots, to.most, "requests were in flight")
}

// TestSendersStop: a server that is stopped stores what it has sent, so nothing is sent twice.
func TestSendersStop(t *testing.T) {
	t.Parallel()
	d := newSending(t)
	s := d.serve()
	tn, to := d.tenant(plans.Enterprise, hugeQuota, 1), newTold(t)
	d.endpoint(tn, to, "pet.created")
	to.takes = 20 * time.Millisecond
	const n = 200
	for i := range n {
		d.create(tn, fmt.Sprint(i))
	}
	wait.Until(t, "some are told of", func() bool { return to.count("pet.created") > 20 })
	assert.Equal(t, s.Stop(syscall.SIGTERM), 0, "exit code")
	d.serve()
	wait.Until(t, "all are told of", func() bool { return to.count("pet.created") == n })
	for id, times := range to.events {
		assert.Equal(t, times, 1, "event", id)
	}
}

// TestNothingOfOursIsReached: petstore serve sends nothing to this machine, even to an address that
// the API would have refused.
func TestNothingOfOursIsReached(t *testing.T) {
	t.Parallel()
	d, to := newDeployment(t, false), newTold(t)
	connected := make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(to)
	server.Config.ConnState = func(net.Conn, http.ConnState) {
		select {
		case connected <- struct{}{}:
		default:
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	assert.NoError(t, err)
	to.url = server.URL
	key := webhooks.NewKey()
	d.serve("PETSTORE_SECRETS_KEY="+key, "PETSTORE_WEBHOOK_PORTS=443,"+port)
	api, by, id := d.pending(d.tenant(plans.Pro, nil, 1), to, key, "*")
	var sent []webhooks.SentDelivery
	wait.Until(t, "an attempt", func() bool {
		sent, err = api.Endpoints.Deliveries(t.Context(), by, id, 0, 1)
		return err == nil && len(sent) == 1 && len(sent[0].Attempts) == 1
	})
	assert.Equal(t, sent[0].Attempts[0].Said, "the host name leads to an address that is not public")
	assert.Equal(t, len(connected), 0, "connections")
}

// at returns the URL of a customer's server on an address of its own, because a server of ours sends
// few requests to one. Without a handler it takes connections, and never answers.
func at(t testing.TB, address string, handler http.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", address+":0")
	assert.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	if handler != nil {
		go func() { _ = http.Serve(listener, handler) }() // #nosec G114 -- no client of ours is slow
	}
	return "http://" + listener.Addr().String()
}

// TestDeadEndpointsDelayNobody: of 100 endpoints half never answer, and a further one has many
// deliveries waiting. The others are told meanwhile.
func TestDeadEndpointsDelayNobody(t *testing.T) {
	t.Parallel()
	d, flood, lasting := newSending(t), 2_000, 15*time.Second
	if long() {
		flood, lasting = 100_000, time.Minute
	}
	s := d.serve()
	sealer, err := webhooks.NewSealer(programs.Read(t, filepath.Join(d.dir, "secrets-key")))
	assert.NoError(t, err)
	secret, text := webhooks.NewSecret()
	var mu sync.Mutex
	var took []time.Duration
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		event, err := petstoreclient.VerifyWebhook([]string{text}, r.Header, body, 0)
		if err != nil {
			t.Errorf("%v: %s", err, body)
			return
		}
		var data struct {
			Name int64 `json:",string"`
		}
		_ = json.Unmarshal(event.Data, &data)
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(time.Unix(0, data.Name)))
	})
	add := func(tn *tenant, url string, dead bool) {
		id := d.number(`insert into endpoints (tenant_id, environment, url, events, verified_at, failing_since)
			values ($1, 'live', $2, '{pet.created}', now(), case when $3 then now() end)
			returning id`, tn.ID, url, dead)
		sealed := sealer.Seal(id, secret)
		d.exec(`insert into endpoint_secrets (endpoint_id, key_id, sealed) values ($1, $2, $3)`,
			id, sealed.KeyID, sealed.Ciphertext)
		d.exec(`insert into endpoint_slots (endpoint_id, slot) values ($1, 0), ($1, 1)`, id)
	}
	flooded := d.tenant(plans.Enterprise, hugeQuota, 0)
	add(flooded, at(t, "127.0.3.1", nil), true)
	d.exec(`insert into pets (tenant_id, name, category_id, status, created_at)
		select $1, n, 1, 'available', now() from generate_series(1, $2) n`, flooded.ID, flood)
	var tenants []*tenant
	for i := range 50 {
		if i%5 == 0 {
			tenants = append(
				tenants,
				d.tenant(plans.Enterprise, hugeQuota, 0),
				d.tenant(plans.Enterprise, hugeQuota, 0),
			)
		}
		add(tenants[len(tenants)-1], at(t, fmt.Sprint("127.0.1.", i+1), handler), false)
		add(tenants[len(tenants)-2], at(t, fmt.Sprint("127.0.2.", i+1), nil), true)
	}
	told := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(took)
	}
	d.create(tenants[1], "0")
	wait.Until(t, "the server has noticed the endpoints", func() bool { return told() == 5 })
	want := 5
	every := time.NewTicker(5 * time.Millisecond)
	defer every.Stop()
	for i, begun := 0, time.Now(); time.Since(begun) < lasting; i++ {
		<-every.C
		d.create(tenants[i%len(tenants)], fmt.Sprint(time.Now().UnixNano()))
		want += 5 * (i % 2) // The second of two tenants has those that answer.
	}
	wait.Until(t, "all are told of", func() bool { return told() == want })
	took = took[5:]
	failed := s.Metric(`petstore_webhook_attempts_total{result="failed"}`)
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf(
		"%d deliveries, median %v, p99 %v; %.0f attempts at dead endpoints",
		len(took),
		took[len(took)/2],
		p99,
		failed,
	)
	assert.True(t, failed < float64(flood)/2, failed, "attempts at dead endpoints were made first")
	wait.Bound(t, "p99 beside 51 dead endpoints", p99, time.Second)
}
