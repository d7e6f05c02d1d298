package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"petstore.example/internal/plans"
)

// trial is a load on several servers while the test makes Redis fail.
type trial struct {
	*deployment
	servers []*server
	begin   time.Time // of the load
	demands []*demand
	// pause is between two requests of a caller.
	pause time.Duration

	mu      sync.Mutex
	records []record
	phases  []phase
	// killed is set once a server was killed: its requests have no response.
	killed bool
	// silent is true if servers end silently: some requests are then undecided.
	silent bool
}

// spec describes a tenant.
type spec struct {
	// ends is when one of its minutes ends, after the load began.
	ends time.Duration
	plan string
	own  *plans.Quota
	// ofKey is the limit of its first key, 0 for none.
	ofKey int64
	// callers has the server of each caller.
	callers []int
}

// demand is a tenant that sends more requests than its limit.
type demand struct {
	spec
	*tenant
	// edge is when one of its minutes ends.
	edge time.Time
}

// record is the result of one request.
type record struct {
	demand, key, status int
	code                string
	sent                time.Time
	took                time.Duration
	minute              time.Time // when its minute ends
}

func (r record) admitted() bool {
	return admitted([]response{{status: r.status}}) == 1 && r.code != "no answer"
}

// phase is a part of the trial. It is healthy if it has no fault.
type phase struct {
	name    string
	from    time.Duration // after the load began
	do      func()
	healthy bool
}

// demand makes the tenants of the specs, with ten keys each. A minute of theirs ends as the spec
// says.
func (tr *trial) demand(specs ...spec) {
	tr.t.Helper()
	for _, s := range specs {
		edge := tr.begin.Add(s.ends).Truncate(time.Second)
		d := &demand{spec: s, tenant: tr.tenantEnding(edge, s.plan, s.own, 10), edge: edge}
		if s.ofKey > 0 {
			tr.limit(d.keys[0], s.ofKey)
		}
		tr.demands = append(tr.demands, d)
	}
}

func (tr *trial) note(d *demand, i, key int, a response) {
	r := record{demand: i, key: key, status: a.status, code: a.code, sent: a.sent, took: a.took()}
	if a.err != nil {
		r.code = "no answer"
	}
	// Headers have whole seconds; the edge is exact.
	r.minute = d.edge.Add(a.windows["minute"].reset.Sub(d.edge).Round(time.Minute))
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.records = append(tr.records, r)
}

// run applies the load during all phases, until end. A denied caller retries after a second.
func (tr *trial) run(end time.Duration, phases ...phase) {
	time.Sleep(time.Until(tr.begin)) // the load begins at a time that the minutes of tenants are chosen by
	ended := make(chan struct{})
	var wg sync.WaitGroup
	for i, d := range tr.demands {
		for n, s := range d.callers {
			wg.Go(func() { tr.call(ended, i, n, s) })
		}
	}
	for _, p := range append(phases, phase{name: "end", from: end}) {
		time.Sleep(time.Until(tr.begin.Add(p.from))) // the phases begin by the schedule
		p.from = time.Since(tr.begin)
		tr.phases = append(tr.phases, p)
		if p.do != nil {
			p.do()
		}
	}
	close(ended)
	wg.Wait()
}

func (tr *trial) call(ended <-chan struct{}, i, caller, server int) {
	d := tr.demands[i]
	for n := caller; ; n++ {
		key := n % len(d.keys)
		a := get(tr.client.http, tr.server(server).URL+"/pets?limit=1", d.keys[key].token)
		tr.note(d, i, key, a)
		pause := tr.pause
		if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
			pause = min(time.Second, time.Until(d.edge.Add(time.Since(d.edge).Truncate(time.Minute)+time.Minute)))
		}
		select {
		case <-ended:
			return
		case <-time.After(pause):
		}
	}
}

// server returns the current server with that number.
func (tr *trial) server(i int) *server {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.servers[i]
}

// replace sends the requests of a killed server to another one.
func (tr *trial) replace(i int, by *server) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.servers[i], tr.killed = by, true
}

// faults returns the periods in which a server was degraded, or in a phase with a fault.
func (tr *trial) faults() (all [][2]time.Time) {
	for i, p := range tr.phases[:len(tr.phases)-1] {
		if !p.healthy {
			all = append(all, [2]time.Time{tr.begin.Add(p.from), tr.begin.Add(tr.phases[i+1].from)})
		}
	}
	for _, s := range tr.servers {
		var since time.Time
		for line := range strings.Lines(s.Stderr()) {
			var e struct {
				Time    time.Time
				Message string
			}
			_ = json.Unmarshal([]byte(line), &e)
			switch {
			case strings.HasPrefix(e.Message, "limits: degraded"):
				since = e.Time
			case strings.HasPrefix(e.Message, "limits: Redis is back") && !since.IsZero():
				all = append(all, [2]time.Time{since, e.Time})
				since = time.Time{}
			}
		}
		if !since.IsZero() {
			all = append(all, [2]time.Time{since, time.Now()})
		}
	}
	return all
}

// window is a minute or day of a tenant, or a minute of its first key.
type window struct {
	demand int
	what   string
	ends   time.Time
}

type count struct{ limit, admitted, refused int64 }

func (tr *trial) counts() map[window]*count {
	counts := map[window]*count{}
	for _, r := range tr.records {
		if r.status == 0 {
			continue
		}
		d := tr.demands[r.demand]
		day := r.sent.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		in := map[window]int64{
			{r.demand, "minute", r.minute}: d.Quota.PerMinute,
			{r.demand, "day", day}:         d.Quota.PerDay,
		}
		if r.key == 0 && d.ofKey > 0 {
			in[window{r.demand, "key", r.minute}] = d.ofKey
		}
		for w, limit := range in {
			if counts[w] == nil {
				counts[w] = &count{limit: limit}
			}
			if r.admitted() {
				counts[w].admitted++
			}
			if r.status == http.StatusTooManyRequests {
				counts[w].refused++
			}
		}
	}
	return counts
}

// show logs the admitted requests of every window and the latencies of every phase. It fails the
// test if a limit was exceeded, and by checkServed if a window without a fault admitted less than
// its limit, or a response is neither 200 nor 429.
func (tr *trial) show() {
	tr.t.Helper()
	counts, faults := tr.counts(), tr.faults()
	windows := slices.SortedFunc(maps.Keys(counts), func(a, b window) int {
		return cmp.Or(a.demand-b.demand, cmp.Compare(a.what, b.what), a.ends.Compare(b.ends))
	})
	exact := 0
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "tenant\twindow\tends\tlimit\tadmitted\trefused\tfault")
	for _, w := range windows {
		n, plan := counts[w], tr.demands[w.demand].plan
		fault := slices.ContainsFunc(faults, func(f [2]time.Time) bool {
			return f[0].Before(w.ends) && f[1].After(w.ends.Add(-time.Minute))
		})
		fmt.Fprintf(
			out,
			"%s\t%s\t%+.0fs\t%d\t%d\t%d\t%v\n",
			plan,
			w.what,
			w.ends.Sub(tr.begin).Seconds(),
			n.limit,
			n.admitted,
			n.refused,
			fault,
		)
		if n.admitted > n.limit {
			tr.t.Errorf("%s: %d admitted in a %s, over the limit of %d", plan, n.admitted, w.what, n.limit)
		}
		if w.what != "minute" || fault || n.refused == 0 || counts[window{w.demand, "day", midnight(w.ends)}].full() {
			continue
		}
		exact++
		checkServed(
			tr.t,
			int(n.limit-n.admitted),
			int(n.limit),
			"%s: %d admitted in a minute without a fault, want the limit of %d",
			plan,
			n.admitted,
			n.limit,
		)
	}
	_ = out.Flush()
	tr.t.Logf(
		"admitted against limit, in every window:\n%s%d minutes with enough demand were without a fault",
		&b,
		exact,
	)
	if exact == 0 && long() {
		tr.t.Error("no minute with enough demand was without a fault")
	}
	tr.checkPhases()
}

func (c *count) full() bool { return c != nil && c.admitted >= c.limit }

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour) }

// termWait is how long a request waits for a term. On a busy machine a change of terms may take
// longer: some requests then end in 503, which the long form does not accept.
const termWait = 250 * time.Millisecond

func (tr *trial) checkPhases() {
	const few = 100 // a phase that is too short to say something in make test
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "phase\tfrom\tanswers\tadmitted\tundecided\t5xx\ttimes")
	for i, p := range tr.phases[:len(tr.phases)-1] {
		var took []time.Duration
		let, bad, undecided, others := 0, 0, 0, map[string]int{}
		for _, r := range tr.records {
			if at := r.sent.Sub(tr.begin); at < p.from || at >= tr.phases[i+1].from {
				continue
			}
			took = append(took, r.took)
			if r.admitted() {
				let++
			}
			switch {
			case r.status == http.StatusOK, r.status == http.StatusTooManyRequests, tr.killed && r.status == 0:
			case r.code == "unavailable" && (tr.silent || !long() && r.took >= termWait):
				undecided++
			default:
				bad++
				others[fmt.Sprint(r.status, " ", r.code)]++
			}
		}
		unserved := bad
		if !tr.silent && undecided*100 > len(took) {
			unserved += undecided
		}
		checkServed(
			tr.t,
			unserved,
			max(len(took), few),
			"%s: %d of %d requests waited for a term in vain; other responses: %v",
			p.name,
			undecided,
			len(took),
			others,
		)
		if len(took) > 0 {
			fmt.Fprintf(
				out,
				"%s\t%+.1fs\t%d\t%d\t%d\t%d\t%s\n",
				p.name,
				p.from.Seconds(),
				len(took),
				let,
				undecided,
				bad,
				percentiles(took),
			)
		}
	}
	_ = out.Flush()
	tr.t.Logf("responses in every phase:\n%s", &b)
}

// TestRedisFaults runs the trials at the same time: their load is light, and most of their time is
// schedule. A server that ends silently together with Redis is one for make soak: beside other
// tests TestOperatorFaults has such ends, and TestOracle has them under load.
func TestRedisFaults(t *testing.T) {
	t.Parallel()
	trials := map[string]func(t *testing.T) *trial{"one Redis": tryOneRedis, "Redis Cluster": tryCluster}
	if long() {
		trials["a server with Redis"] = tryUncleanEnd
	}
	for name, try := range trials {
		t.Run(name, func(t *testing.T) {
			if !long() {
				t.Parallel()
			}
			tr := try(t)
			if tr.show(); t.Failed() {
				tr.checkWarnings()
			}
		})
	}
}

// checkWarnings logs the servers' warnings.
func (tr *trial) checkWarnings() {
	for _, s := range tr.servers {
		for line := range strings.Lines(s.Stderr()) {
			if strings.Contains(line, `"level":"warn"`) && !strings.Contains(line, `"message":"request"`) {
				tr.t.Log(strings.TrimSpace(line))
			}
		}
	}
}
