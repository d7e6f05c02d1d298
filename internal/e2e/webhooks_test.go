package e2e_test

import (
	"context"
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
	"petstore.example/internal/test/redistest"
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

// creators is how many create animals at once.
const creators = 6

// createUntil creates animals, 500 a second or as many as the machine allows, until stop is called.
// stop returns the IDs of those whose creation was confirmed, and how many were rolled back.
func (d sending) createUntil(tn *tenant) (stop func() (created []string, undone int)) {
	d.sql.SetMaxOpenConns(creators + 2)
	ctx, cancel := context.WithCancel(d.t.Context())
	every := time.NewTicker(time.Second / 500)
	var mu sync.Mutex
	var created []string
	undone := 0
	var creating sync.WaitGroup
	for range creators {
		creating.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-every.C:
				}
				id, err := d.tryCreate(tn, n%20 == 0)
				mu.Lock()
				if err == nil && n%20 == 0 {
					undone++
				} else if err == nil {
					created = append(created, id)
				}
				mu.Unlock()
			}
		})
	}
	return func() ([]string, int) {
		cancel()
		creating.Wait()
		every.Stop()
		return created, undone
	}
}

// tryCreate creates an animal, or rolls it back. After an error it may have been created.
func (d sending) tryCreate(tn *tenant, undo bool) (id string, err error) {
	tx, err := d.sql.Begin()
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback() }()
	if err := tx.QueryRow(`insert into pets (tenant_id, name, category_id, status, created_at)
		values ($1, 'x', 1, 'available', now()) returning id`, tn.ID).Scan(&id); err != nil || undo {
		return id, err
	}
	return id, tx.Commit()
}

// TestKilledSenders: animals are created, and keys issued and revoked, while one of three servers is
// killed again and again, and Postgres restarts once. Each change that was committed has one event
// and is told of at least once, none that was not, and never more than two requests are in flight
// to the endpoint. make soak does it for longer.
func TestKilledSenders(t *testing.T) {
	t.Parallel()
	postgres, lasting, every := storetest.NewServer(t), 10*time.Second, 2*time.Second
	if long() {
		lasting, every = time.Minute, 5*time.Second
	}
	d := sending{newDeploymentOn(t, postgres.URL, redistest.New(t).URL), filepath.Join(openDir(t, 0), "store")}
	servers := []*server{d.serve(), d.serve(), d.serve()}
	tn, to := d.tenant(plans.Enterprise, hugeQuota, 1), newTold(t)
	d.endpoint(tn, to, "pet.created", "key.issued", "key.revoked")
	stop, kills, begun, restarted := d.createUntil(tn), 0, time.Now(), false
	for next := time.NewTicker(every); time.Since(begun) < lasting; kills++ {
		<-next.C
		// Whether it is committed, the tables say.
		k, _, err := d.service().Issue(t.Context(), testActor, keys.Request{Tenant: tn.Name, Environment: keys.Live})
		if err == nil {
			_, _ = d.service().Revoke(t.Context(), testActor, k.ID)
		}
		servers[kills%3].Kill()
		if !restarted && time.Since(begun) > lasting/2 {
			restarted = true
			postgres.Stop()
			postgres.Start()
		}
		servers[kills%3] = d.serve()
	}
	took := time.Since(begun)
	created, undone := stop()
	var stored []string
	d.scan(pq.Array(&stored), `select array_agg(id::text) from pets where tenant_id = $1`, tn.ID)
	issued := int(d.number(`select count(*) from api_keys where tenant_id = $1 and id <> $2`, tn.ID, tn.keys[0].id))
	revoked := int(d.number(`select count(*) from api_keys where tenant_id = $1 and revoked_at is not null`, tn.ID))
	wait.Until(t, "all are told of", func() bool {
		return to.count("pet.created") >= len(stored) && to.count("key.issued") >= issued &&
			to.count("key.revoked") >= revoked
	}, func() any { return fmt.Sprint(to.types, len(stored)) })
	to.mu.Lock()
	defer to.mu.Unlock()
	twice := 0
	for _, n := range to.events {
		twice += n - 1
	}
	t.Logf("%.0f animals a second for %v, %d servers killed: %d stored, of which %d not confirmed, %d rolled back; "+
		"%v, %d of them again, at most %d in flight", float64(len(stored))/took.Seconds(), took.Round(time.Second),
		kills, len(stored), len(stored)-len(created), undone, to.types, twice, to.most)
	slices.Sort(stored)
	for _, id := range created {
		_, found := slices.BinarySearch(stored, id)
		assert.True(t, found, "animal", id, "is not stored")
	}
	assert.Equal(t, len(to.pets), len(stored), "animals that were told of")
	for _, id := range stored {
		assert.Equal(t, to.pets[id], 1, "events of animal", id)
	}
	events := d.number(`select count(*) from events where tenant_id = $1 and type = 'pet.created'`, tn.ID)
	assert.Equal(t, int(events), len(stored), "events")
	assert.True(t, restarted && undone > 0 && issued > 0 && revoked > 0, restarted, undone, issued, revoked)
	assert.Equal(t, fmt.Sprint(to.types["key.issued"], to.types["key.revoked"]), fmt.Sprint(issued, revoked))
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
