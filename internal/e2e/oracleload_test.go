package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/store/pricing"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/oracle"
	"petstore.example/internal/test/wait"
)

// oracleLoad are the customers of a run, and the servers that they use.
type oracleLoad struct {
	*deployment
	file    string
	out     *oracle.Recorder
	http    *http.Client
	seed    uint64
	cycle   time.Duration // names change in the first half of each
	servers [3]atomic.Pointer[server]

	narrow, daily, monthly, changes, creates *tenant
	registers                                []int64
	own                                      key // of creates, with a limit

	mu   sync.Mutex
	made []int64 // the latest animals
}

func (l *oracleLoad) prepare() {
	l.t.Helper()
	l.avoidMidnight()
	dir := os.Getenv("PETSTORE_E2E_LOGS")
	if dir == "" {
		dir = l.t.TempDir()
	}
	l.file = filepath.Join(dir, fmt.Sprintf("oracle-%d.jsonl", l.seed))
	file, err := os.Create(l.file)
	assert.NoError(l.t, err)
	l.t.Cleanup(func() { _ = file.Close() })
	l.out = oracle.NewRecorder(file)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	l.t.Cleanup(transport.CloseIdleConnections)
	l.http = &http.Client{Transport: transport, Timeout: 10 * time.Second}
	customer := func(q *plans.Quota, keyCount int) *tenant { return l.tenant(plans.Enterprise, q, keyCount) }
	// Each server that is killed while Redis is lost costs the day a twentieth of the minute.
	wide := enterprise(200_000, 100_000_000)
	l.narrow, l.daily, l.changes, l.creates = customer(
		enterprise(40, 100_000),
		2,
	), customer(
		enterprise(30, 45),
		1,
	), customer(
		wide,
		1,
	), customer(
		wide,
		2,
	)
	l.monthly = l.withMonth()
	l.registers = l.insertPets(l.changes, 4)
	l.own = l.creates.keys[1]
	const ofKey = 25
	l.limit(l.own, ofKey)
	for _, tn := range l.tenants() {
		said := oracle.Tenant{Name: tn.Name, PerMinute: tn.Quota.PerMinute, PerDay: tn.Quota.PerDay}
		switch tn {
		case l.monthly:
			said.PerMonth = 60
		case l.creates:
			said.Keys = map[string]int64{l.own.id: ofKey}
		case l.changes:
			said.Registers = map[int64]string{}
			for i, id := range l.registers {
				said.Registers[id] = fmt.Sprint("animal ", i+1)
			}
		}
		l.out.Tenant(said)
	}
}

func (l *oracleLoad) tenants() []*tenant {
	return []*tenant{l.narrow, l.daily, l.monthly, l.changes, l.creates}
}

// withMonth makes a tenant whose month admits 60 requests in its second minute, by a boost: of a plan
// the day would admit no more than the month.
func (l *oracleLoad) withMonth() *tenant {
	l.t.Helper()
	month := func(included, share int64) plans.Month {
		return plans.Month{
			Kind: plans.SomeMonth, Included: included,
			Overage: plans.Overage{Kind: plans.OverageShare, Value: share},
		}
	}
	tn := l.tenant(plans.Enterprise, &plans.Quota{PerMinute: 40, PerDay: 75, Month: month(75, 20)}, 1)
	_, err := l.db.Timelines.Assign(l.t.Context(), testActor, pricing.NewAssignment{
		Tenant: tn.Name, Kind: plans.Boost, Own: &plans.Quota{Month: month(40, 50)},
		Until: func(from time.Time) time.Time { return from.AddDate(1, 0, 0) },
	})
	assert.NoError(l.t, err)
	return tn
}

// begin starts the load.
func (l *oracleLoad) begin() (stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	var wg sync.WaitGroup
	callers, began := 0, time.Now()
	start := func(n int, pause time.Duration, call func(rnd *rand.Rand, n int)) {
		for range n {
			callers++
			rnd := rand.New(rand.NewPCG(l.seed, uint64(callers)))
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					call(rnd, i)
					time.Sleep(time.Duration(rnd.Int64N(int64(2 * pause)))) // a caller's own work
				}
			})
		}
	}
	for i := range 2 * len(l.registers) { // two for each, so that If-Match is of use
		id := l.registers[i/2]
		start(1, 30*time.Millisecond, func(rnd *rand.Rand, n int) {
			if time.Since(began)%l.cycle > l.cycle/2 {
				return // Lists come from caches only while nothing changes.
			}
			q := oracle.Request{Method: http.MethodPatch, ID: id, Name: fmt.Sprintf("n-%d-%d", i, n+1)}
			if n%3 == 0 {
				if a := l.send(
					l.changes,
					l.changes.keys[0],
					rnd,
					oracle.Request{Method: http.MethodGet, Asked: []int64{id}},
				); len(a.Items) == 1 {
					q.IfMatch, q.Expected = a.ETag, a.Items[0].Name
				}
			}
			l.send(l.changes, l.changes.keys[0], rnd, q)
		})
	}
	for range 3 {
		tag := ""
		start(1, 15*time.Millisecond, func(rnd *rand.Rand, n int) {
			q := oracle.Request{Method: http.MethodGet, Asked: l.registers}
			if n%2 == 1 {
				q.IfNoneMatch = tag
			}
			if a := l.send(l.changes, l.changes.keys[0], rnd, q); a.ETag != "" {
				tag = a.ETag
			}
		})
	}
	start(2, 30*time.Millisecond, func(rnd *rand.Rand, _ int) {
		l.send(l.changes, l.changes.keys[0], rnd, oracle.Request{Method: http.MethodGet})
	})
	start(3, 25*time.Millisecond, l.create)
	start(3, 40*time.Millisecond, l.order)
	start(1, 30*time.Millisecond, func(rnd *rand.Rand, n int) { l.look(rnd, l.creates.keys[n%2]) })
	start(3, 120*time.Millisecond, func(rnd *rand.Rand, n int) {
		l.send(l.narrow, l.narrow.keys[n%2], rnd, oracle.Request{Method: http.MethodGet})
	})
	start(2, 150*time.Millisecond, func(rnd *rand.Rand, _ int) {
		l.send(l.daily, l.daily.keys[0], rnd, oracle.Request{Method: http.MethodGet})
	})
	start(2, 150*time.Millisecond, func(rnd *rand.Rand, _ int) {
		l.send(l.monthly, l.monthly.keys[0], rnd, oracle.Request{Method: http.MethodGet})
	})
	return func() { cancel(); wg.Wait() }
}

// create makes an animal.
func (l *oracleLoad) create(rnd *rand.Rand, _ int) {
	name := fmt.Sprintf("c-%x", rnd.Uint64())
	q := oracle.Request{Method: http.MethodPost, Name: name}
	if rnd.IntN(2) == 0 {
		q.IdempotencyKey = "key-" + name
	}
	if a := l.insist(rnd, q); a.Status == http.StatusCreated && len(a.Items) == 1 {
		l.mu.Lock()
		l.made = append(l.made, a.Items[0].ID)
		l.mu.Unlock()
	}
}

// order orders one of the latest animals, with a key or without, as others do at the same time.
func (l *oracleLoad) order(rnd *rand.Rand, _ int) {
	ids := l.latest()
	if len(ids) == 0 {
		return
	}
	q := oracle.Request{Method: http.MethodPost, PetID: ids[rnd.IntN(len(ids))]}
	if rnd.IntN(3) > 0 {
		q.IdempotencyKey = fmt.Sprintf("order-%x", rnd.Uint64())
	}
	l.insist(rnd, q)
}

// insist sends a POST. With a key it is repeated until it is decided, three times at most, and every
// second one once more.
func (l *oracleLoad) insist(rnd *rand.Rand, q oracle.Request) (a oracle.Request) {
	for range 3 {
		a = l.send(l.creates, l.creates.keys[0], rnd, q)
		if q.IdempotencyKey == "" || a.Status == http.StatusCreated || a.Code == "pet_not_available" {
			break
		}
	}
	if q.IdempotencyKey != "" && a.Status == http.StatusCreated && rnd.IntN(2) == 0 {
		l.send(l.creates, l.creates.keys[0], rnd, q)
	}
	return a
}

// latest are the latest animals.
func (l *oracleLoad) latest() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.made[max(0, len(l.made)-20):])
}

// look lists the latest animals.
func (l *oracleLoad) look(rnd *rand.Rand, k key) {
	if ids := l.latest(); len(ids) > 0 {
		l.send(l.creates, k, rnd, oracle.Request{Method: http.MethodGet, Asked: ids})
	}
}

// send sends a request to some server, and records it with what came back.
func (l *oracleLoad) send(tn *tenant, k key, rnd *rand.Rand, q oracle.Request) oracle.Request {
	q.Tenant, q.Key, q.Server = tn.Name, k.id, rnd.IntN(len(l.servers))
	target, body := l.servers[q.Server].Load().URL+"/pets", ""
	query := url.Values{"limit": {"100"}}
	switch {
	case q.Used != nil:
		target, query = l.servers[q.Server].Load().URL+"/usage", nil
	case q.Orders, q.PetID != 0:
		target = l.servers[q.Server].Load().URL + "/store/orders"
		if q.PetID != 0 {
			query, body = nil, fmt.Sprintf(`{"petId":%d}`, q.PetID)
		}
	case q.Method == http.MethodGet && q.Asked != nil:
		query.Set("ids", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(q.Asked)), ","), "[]"))
	case q.Method == http.MethodPatch:
		target, query, body = target+"/"+strconv.FormatInt(q.ID, 10), nil, fmt.Sprintf(`{"name":%q}`, q.Name)
	case q.Method == http.MethodPost:
		query, body = nil, fmt.Sprintf(`{"name":%q,"categoryId":7}`, q.Name)
	}
	if q.Walk && q.Next != "" {
		query.Set("cursor", q.Next)
	}
	q.Next = ""
	req, err := http.NewRequestWithContext(
		context.Background(),
		q.Method,
		target+"?"+query.Encode(),
		strings.NewReader(body),
	)
	if err != nil {
		l.t.Errorf("a request: %v", err)
		return q
	}
	req.Header.Set("Authorization", "Bearer "+k.token)
	for name, value := range map[string]string{"Idempotency-Key": q.IdempotencyKey, "If-None-Match": q.IfNoneMatch,
		"If-Match": q.IfMatch} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	var a response
	q.Start = time.Now()
	a.exchange(l.http, req)
	q.End = time.Now()
	if a.err == nil {
		l.read(&q, a)
	}
	l.out.Request(q)
	if q.Status == 0 || q.Status >= 500 {
		time.Sleep(50 * time.Millisecond) // a client that backs off
	}
	return q
}

// read notes what a response says.
func (l *oracleLoad) read(q *oracle.Request, a response) {
	q.Status, q.Code, q.ETag, q.Next = a.status, a.code, a.header.Get("ETag"), a.header.Get("X-Next-Cursor")
	q.Limit, q.Reset = max(0, a.integer("X-RateLimit-Limit")), max(0, a.integer("X-RateLimit-Reset"))
	var err error
	switch {
	case a.status >= 300:
	case q.Used != nil:
		var body struct{ Month struct{ Admitted int64 } }
		err = json.Unmarshal(a.body, &body)
		q.Used = &body.Month.Admitted
	case q.Method == http.MethodGet:
		err = json.Unmarshal(a.body, &q.Items)
	default:
		q.Items = make([]oracle.Item, 1)
		err = json.Unmarshal(a.body, &q.Items[0])
	}
	assert.True(l.t, err == nil, "a body", err, a.body)
}

// settle walks through all animals and orders, and reads the bills.
func (l *oracleLoad) settle() {
	l.t.Helper()
	rnd := rand.New(rand.NewPCG(l.seed, 0))
	l.walk(l.changes, rnd, oracle.Request{})
	l.walk(l.creates, rnd, oracle.Request{})
	l.walk(l.creates, rnd, oracle.Request{Orders: true})
	time.Sleep(1500 * time.Millisecond) // usage is recorded within a second
	for _, tn := range l.tenants() {
		wait.Until(l.t, "a bill", func() bool {
			return l.send(
				tn,
				tn.keys[0],
				rnd,
				oracle.Request{Method: http.MethodGet, Used: new(int64)},
			).Status == http.StatusOK
		})
	}
}

// walk reads all pages of a list.
func (l *oracleLoad) walk(tn *tenant, rnd *rand.Rand, q oracle.Request) {
	l.t.Helper()
	q.Method, q.Walk = http.MethodGet, true
	for more := true; more; more = q.Next != "" {
		wait.Until(l.t, "a page", func() bool {
			page := l.send(tn, tn.keys[0], rnd, q)
			if page.Status != http.StatusOK {
				return false
			}
			q.Next = page.Next
			return true
		})
	}
}
