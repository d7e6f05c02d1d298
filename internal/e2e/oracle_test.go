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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/oracle"
	"petstore.example/internal/test/wait"
)

// TestOracle sends requests to three servers while a nemesis makes faults by a seed. A checker that
// knows nothing of our code judges what the clients saw. With PETSTORE_E2E_LOGS the records of a
// seed stay there. The seed draws the faults and the requests; what meets what is the machine's.
func TestOracle(t *testing.T) {
	t.Parallel()
	if !long() {
		judge(t, 1, 5*time.Second)
		return
	}
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { judge(t, seed, 90*time.Second) })
	}
}

// notGuaranteed are the exceptions that the documents name.
var notGuaranteed = []oracle.Exception{
	{
		Document: "rate-limiting.md: less than the limit may be admitted while something fails",
		Promise:  oracle.Refusals, Faults: []string{""}, After: time.Minute,
	},
	{
		Document: "errors.md: the database stops in the middle of recording the write, and goes on later",
		Promise:  oracle.Settled, Faults: []string{"Postgres frozen"},
	},
	{
		Document: "errors.md: the clock of the database is set back",
		Promise:  oracle.Settled, Faults: []string{"clock of Postgres"}, After: 5 * time.Second,
	},
	{
		Document: "rate-limiting.md: if the clock of Postgres is set forward, windows end early",
		Promise:  oracle.Windows, Faults: []string{"clock of Postgres"}, After: 2 * time.Minute,
	},
	{
		Document: "faults.md: a dump is restored that does not know of a server, and that server freezes before it " +
			"has noticed",
		Promise: oracle.Windows,
		Faults:  []string{"Postgres restored", "server "},
		After:   time.Minute,
	},
	{
		Document: "faults.md: a standby is promoted that was behind, on a day on which Redis was lost too",
		Promise:  oracle.Windows, Faults: []string{"Postgres's standby promoted", "Redis flushed"}, After: time.Minute,
	},
}

func judge(t *testing.T, seed uint64, lasts time.Duration) {
	l := &oracleLoad{seed: seed, cycle: lasts / 6}
	n := newNemesis(t, l, seed)
	stop := l.begin()
	n.rage(lasts)
	stop()
	r, faults := l.judge()
	least := 1 // on a machine that is busy with other tests
	if long() {
		least = 10
	}
	if r.Windows == 0 || long() && r.Refusals == 0 || r.Bills < 4 || r.Creates < least || r.Lists < least ||
		faults < 3 {
		t.Errorf("seed %d: this run has shown nothing: %+v", seed, r)
	}
}

// judge has the oracle judge what was recorded, and returns what it has checked, and the number of
// faults.
func (l *oracleLoad) judge() (r oracle.Report, faults int) {
	t, seed, rnd := l.t, l.seed, rand.New(rand.NewPCG(l.seed, 0))
	wait.Until(t, "a create, and a list", func() bool {
		create := oracle.Request{Method: http.MethodPost, Name: fmt.Sprintf("c-%x", rnd.Uint64())}
		return l.send(l.creates, l.creates.keys[0], rnd, create).Status == http.StatusCreated &&
			l.send(
				l.changes,
				l.changes.keys[0],
				rnd,
				oracle.Request{Method: http.MethodGet, Asked: l.registers},
			).Status == http.StatusOK
	})
	l.settle()
	assert.NoError(t, l.out.Err())
	file, err := os.Open(l.file)
	assert.NoError(t, err)
	defer file.Close()
	all, err := oracle.Read(file)
	assert.NoError(t, err)
	r = oracle.Check(
		all,
		oracle.Options{RefusedNeverHappens: true, ClockError: time.Second, Exceptions: notGuaranteed},
	)
	statuses := map[int]int{}
	for _, q := range all.Requests {
		statuses[q.Status]++
	}
	t.Logf(
		"seed %d: %d requests %v, %d faults; checked %d windows, %d refusals, %d bills, %d creates, %d lists; %d "+
			"violations, by exception %v",
		seed,
		len(all.Requests),
		statuses,
		len(all.Faults),
		r.Windows,
		r.Refusals,
		r.Bills,
		r.Creates,
		r.Lists,
		len(r.Violations),
		r.Allowed,
	)
	for _, v := range r.Violations[:min(len(r.Violations), 10)] {
		t.Errorf("seed %d: %v", seed, v)
	}
	if n := statuses[http.StatusInternalServerError]; n > 0 {
		t.Errorf("seed %d: %d responses are 500", seed, n)
		for i := range l.servers {
			for line := range strings.Lines(l.servers[i].Load().Stderr()) {
				if strings.Contains(line, `"status":500`) {
					t.Log(strings.TrimSpace(line))
				}
			}
		}
	}
	for _, f := range all.Faults {
		if t.Failed() || testing.Verbose() {
			t.Logf("%s to %s: %s", f.Start.UTC().Format("15:04:05.000"), f.End.UTC().Format("15:04:05.000"), f.What)
		}
	}
	return r, len(all.Faults)
}

// oracleLoad are the customers of a run, and the servers that they use.
type oracleLoad struct {
	*deployment
	file    string
	out     *oracle.Recorder
	http    *http.Client
	seed    uint64
	cycle   time.Duration // names change in the first half of each
	servers [3]atomic.Pointer[server]

	narrow, daily, changes, creates *tenant
	registers                       []int64
	own                             key // of creates, with a limit

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
	l.registers = l.insertPets(l.changes, 4)
	l.own = l.creates.keys[1]
	const ofKey = 25
	l.limit(l.own, ofKey)
	for _, tn := range []*tenant{l.narrow, l.daily, l.changes, l.creates} {
		said := oracle.Tenant{Name: tn.Name, PerMinute: tn.Quota.PerMinute, PerDay: tn.Quota.PerDay}
		switch tn {
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
	start(1, 30*time.Millisecond, func(rnd *rand.Rand, n int) { l.look(rnd, l.creates.keys[n%2]) })
	start(3, 120*time.Millisecond, func(rnd *rand.Rand, n int) {
		l.send(l.narrow, l.narrow.keys[n%2], rnd, oracle.Request{Method: http.MethodGet})
	})
	start(2, 150*time.Millisecond, func(rnd *rand.Rand, _ int) {
		l.send(l.daily, l.daily.keys[0], rnd, oracle.Request{Method: http.MethodGet})
	})
	return func() { cancel(); wg.Wait() }
}

// create makes an animal. With an Idempotency-Key it is repeated until it is acknowledged, three
// times at most.
func (l *oracleLoad) create(rnd *rand.Rand, _ int) {
	name := fmt.Sprintf("c-%x", rnd.Uint64())
	q := oracle.Request{Method: http.MethodPost, Name: name}
	tries := 1
	if rnd.IntN(2) == 0 {
		q.IdempotencyKey, tries = "key-"+name, 3
	}
	for range tries {
		if a := l.send(l.creates, l.creates.keys[0], rnd, q); a.Status == http.StatusCreated && len(a.Items) == 1 {
			l.mu.Lock()
			l.made = append(l.made, a.Items[0].ID)
			l.mu.Unlock()
			return
		}
	}
}

// look lists the latest animals.
func (l *oracleLoad) look(rnd *rand.Rand, k key) {
	l.mu.Lock()
	ids := append([]int64(nil), l.made[max(0, len(l.made)-20):]...)
	l.mu.Unlock()
	if len(ids) > 0 {
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

// settle walks through all animals, and reads the bills.
func (l *oracleLoad) settle() {
	l.t.Helper()
	rnd := rand.New(rand.NewPCG(l.seed, 0))
	for _, tn := range []*tenant{l.changes, l.creates} {
		for next, more := "", true; more; more = next != "" {
			wait.Until(l.t, "a page", func() bool {
				page := l.send(tn, tn.keys[0], rnd, oracle.Request{Method: http.MethodGet, Walk: true, Next: next})
				if page.Status != http.StatusOK {
					return false
				}
				next = page.Next
				return true
			})
		}
	}
	time.Sleep(1500 * time.Millisecond) // usage is recorded within a second
	for _, tn := range []*tenant{l.narrow, l.daily, l.changes, l.creates} {
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
