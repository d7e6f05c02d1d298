package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/plans"
)

// registers are animals whose names count their writes. Each has one writer. A list that is
// requested after a write was acknowledged, or after another list showed it, must show that write
// or a later one. This is Herlihy and Wing's linearizability for single-writer registers.
type registers struct {
	ids     []int64
	started []atomic.Int64 // the last write that was sent
	floor   []atomic.Int64 // the last write that was acknowledged or seen

	reads, unchanged, writes, unknown, stale atomic.Int64
	mu                                       sync.Mutex
	first                                    string // the first stale list
	failures                                 []response
}

func newRegisters(ids []int64) *registers {
	return &registers{ids: ids, started: make([]atomic.Int64, len(ids)), floor: make([]atomic.Int64, len(ids))}
}

func raise(at *atomic.Int64, n int64) {
	for {
		known := at.Load()
		if known >= n || at.CompareAndSwap(known, n) {
			return
		}
	}
}

func (r *registers) failed(a response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, a)
}

// saw compares a list with what was known before it was requested.
func (r *registers) saw(known []int64, page []pet, on string) {
	values := map[int64]int64{}
	for _, p := range page {
		if n, err := strconv.ParseInt(strings.TrimPrefix(p.Name, "n-"), 10, 64); err == nil {
			values[p.ID] = n
		}
	}
	for i, id := range r.ids {
		n, ok := values[id]
		if !ok || n < known[i] || n > r.started[i].Load() {
			r.isStale(
				fmt.Sprintf(
					"server %s shows write %d of animal %d (there: %v), known was %d, sent %d",
					on,
					n,
					id,
					ok,
					known[i],
					r.started[i].Load(),
				),
			)
			return
		}
		raise(&r.floor[i], n)
	}
}

func (r *registers) isStale(how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stale.Add(1) == 1 {
		r.first = how
	}
}

func (r *registers) known() []int64 {
	known := make([]int64, len(r.ids))
	for i := range r.floor {
		known[i] = r.floor[i].Load()
	}
	return known
}

// registerLoad runs readers and writers on servers that are replaced.
type registerLoad struct {
	*registers
	d       *deployment
	tenant  *tenant
	servers []atomic.Pointer[server]
	env     []string
}

// write updates an animal until ctx ends. The outcome of a write without a response is unknown, so
// the next write waits until the previous one has surely ended.
func (w *registerLoad) write(ctx context.Context, i int, rnd *rand.Rand) {
	for n := w.started[i].Load() + 1; ctx.Err() == nil; n++ {
		w.started[i].Store(n)
		s := w.servers[rnd.IntN(len(w.servers))].Load()
		a := w.d.client.do(
			context.Background(),
			http.MethodPatch,
			fmt.Sprintf("%s/pets/%d", s.URL, w.ids[i]),
			w.tenant.keys[0].token,
			fmt.Sprintf(`{"name":"n-%d"}`, n),
		)
		if a.status == http.StatusOK {
			w.writes.Add(1)
			raise(&w.floor[i], n)
			time.Sleep(time.Duration(rnd.IntN(50)) * time.Millisecond) // writes come at any time
			continue
		}
		w.unknown.Add(1)
		w.failed(a)
		time.Sleep(300 * time.Millisecond) // between two faults
	}
}

// read lists the animals until ctx ends, all or by their IDs. Half of its requests are conditional.
func (w *registerLoad) read(ctx context.Context, rnd *rand.Rand) {
	target := "/pets?limit=10"
	if rnd.IntN(2) == 0 {
		target += "&ids=" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(w.ids)), ","), "[]")
	}
	pages := map[string][]pet{}
	tag := ""
	for ctx.Err() == nil {
		if !long() {
			time.Sleep(5 * time.Millisecond) // beside other tests
		}
		slot := rnd.IntN(len(w.servers))
		s := w.servers[slot].Load()
		var headers []string
		if tag != "" && rnd.IntN(2) == 0 {
			headers = []string{"If-None-Match", tag}
		}
		known := w.known()
		a := w.d.client.do(context.Background(), http.MethodGet, s.URL+target, w.tenant.keys[0].token, "", headers...)
		switch a.status {
		case http.StatusOK:
			var page []pet
			if err := json.NewDecoder(bytes.NewReader(a.body)).Decode(&page); err != nil {
				w.d.t.Errorf("a list that is no JSON: %v", err)
				return
			}
			clear(pages)
			tag = a.header.Get("ETag")
			pages[tag] = page
			w.reads.Add(1)
			w.saw(known, page, strconv.Itoa(slot))
		case http.StatusNotModified:
			w.unchanged.Add(1)
			w.saw(known, pages[tag], strconv.Itoa(slot)+" (304)")
		default:
			w.failed(a)
			time.Sleep(5 * time.Millisecond) // a reader's own work
		}
	}
}

// fault causes a failure and repairs it.
type fault func(rnd *rand.Rand)

// run reads and writes for that long, while faults occur one after the other.
func (w *registerLoad) run(readers int, long time.Duration, seed uint64, faults ...fault) {
	ctx, cancel := context.WithTimeout(w.d.t.Context(), long)
	defer cancel()
	var wg sync.WaitGroup
	for i := range w.ids {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() { w.write(ctx, i, rnd) })
	}
	for i := range readers {
		rnd := rand.New(rand.NewPCG(seed, uint64(1000+i)))
		wg.Go(func() { w.read(ctx, rnd) })
	}
	rnd := rand.New(rand.NewPCG(seed, 1<<32))
	for i := 0; ctx.Err() == nil; i++ {
		select {
		case <-ctx.Done():
		case <-time.After(500*time.Millisecond + time.Duration(rnd.IntN(700))*time.Millisecond):
			if len(faults) > 0 {
				faults[i%len(faults)](rnd)
			}
		}
	}
	wg.Wait()
}

// replace ends a server and starts another in its place.
func (w *registerLoad) replace(slot int, end func(*server)) {
	old := w.servers[slot].Load()
	end(old)
	w.servers[slot].Store(w.d.serve(w.env...))
}

func killed(s *server) { s.Kill() }

// newRegisterLoad starts the servers and creates the tenant and its animals.
func newRegisterLoad(d *deployment, servers, animals int, env ...string) *registerLoad {
	d.t.Helper()
	w := &registerLoad{d: d, servers: make([]atomic.Pointer[server], servers), env: env}
	for i := range w.servers {
		w.servers[i].Store(d.serve(env...))
	}
	w.tenant = d.tenant(plans.Enterprise, hugeQuota, 1)
	w.registers = newRegisters(d.insertPets(w.tenant, animals))
	d.exec(`update pets set name = 'n-0' where tenant_id = $1`, w.tenant.ID)
	return w
}

// hits returns how many lists the current servers have served from the cache.
func (w *registerLoad) hits() (n float64) {
	for i := range w.servers {
		n += max(0, w.servers[i].Load().Metric(listsFromMemory))
	}
	return n
}

func (w *registerLoad) show(t *testing.T, what string) {
	t.Helper()
	t.Logf(
		"%s: %d lists, %d not modified, %d writes, %d of unknown outcome; %d lists stale; failed: %v",
		what,
		w.reads.Load(),
		w.unchanged.Load(),
		w.writes.Load(),
		w.unknown.Load(),
		w.stale.Load(),
		countByCode(w.failures),
	)
}
