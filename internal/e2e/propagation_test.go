package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// change is a command of petstorectl, in which KEY and TENANT stand for those of a tenant, and how
// a response shows its effect: of a list, or, for what a key may change, of a POST without a body.
type change struct {
	command string
	shown   func(response) bool
	method  string
}

func (c change) of(t *tenant) []string {
	return strings.Fields(strings.NewReplacer("KEY", t.keys[0].id, "TENANT", t.Name).Replace(c.command))
}

const (
	otherLimit = 7_654_321
	// roomyLimit is that of the plan Business. The test polls for as long as a command takes: the
	// key of a plan with less would get banned.
	roomyLimit = 100_000
)

func served(a response) bool { return a.status == 200 }

func refusedAs(code string) func(response) bool {
	return func(a response) bool { return a.code == code }
}

func limitedTo(limit int64) func(response) bool {
	return func(a response) bool { return a.integer("X-RateLimit-Limit") == limit }
}

// changes are applied in this order to a new tenant.
var changes = []change{
	{"ban place KEY --for 1h --reason test", refusedAs("key_banned"), "GET"},
	{"ban lift KEY", served, "GET"},
	{"tenant suspend TENANT --yes", refusedAs("invalid_api_key"), "GET"},
	{"tenant resume TENANT", served, "GET"},
	{
		fmt.Sprintf("plan assign TENANT enterprise --per-minute %d --per-day %[1]d", otherLimit),
		limitedTo(otherLimit),
		"GET",
	},
	{"plan assign TENANT business", limitedTo(roomyLimit), "GET"},
	{fmt.Sprint("plan edit business --per-minute ", 2*roomyLimit), limitedTo(2 * roomyLimit), "GET"},
	{fmt.Sprint("plan edit business --per-minute ", roomyLimit), limitedTo(roomyLimit), "GET"},
	{"key edit KEY --allow 192.0.2.1", refusedAs("address_not_allowed"), "GET"},
	{"key edit KEY --no-allow", served, "GET"},
	{"key edit KEY --scope read", refusedAs("insufficient_scope"), "POST"},
	{"key edit KEY --scope write", refusedAs("missing_body"), "POST"},
	{"key revoke KEY --yes", refusedAs("invalid_api_key"), "GET"},
	{"undo --yes", served, "GET"},
}

// TestChangesApplyEverywhere makes each change while each of three servers gets requests all the
// time. A change is one notice on the feed. After its commit, never before, each server shows it,
// and goes on to. Each looks the caller up once for a notice, and not by age: far less often than a
// server that gets no notices would. What is promised are bounds:
// 100 ms from the commit to the first response that shows a change, in most cases, and that no
// request which is sent 400 ms after its acknowledgement misses it.
func TestChangesApplyEverywhere(t *testing.T) {
	t.Parallel()
	samples, pause := 2, 5*time.Millisecond
	switch {
	case long():
		samples, pause = 200, time.Millisecond
	case wait.Bounds():
		samples, pause = 10, time.Millisecond
	}
	postgres := storetest.NewServer(t)
	d := newDeploymentOn(t, postgres.URL, redistest.New(t).URL)
	// Postgres then records when a change was committed.
	d.exec(`alter system set track_commit_timestamp = on`)
	postgres.Stop()
	postgres.Start()
	d.ctl(
		"plan",
		"edit",
		plans.Business,
		"--per-minute",
		fmt.Sprint(roomyLimit),
		"--per-day",
		fmt.Sprint(100*roomyLimit),
		"--database-url",
		storetest.As(t, d.databaseURL, storetest.BillingLogin),
	)
	w := &changeWatch{deployment: d, servers: d.serveAll(3), pause: pause, feed: listen(d)}
	all := w.measure(samples)
	wait.Bound(t, "until no request met the state before", w.late, 400*time.Millisecond)
	wait.Bound(t, "p99 until a response showed the change", percentile(all, 99), 100*time.Millisecond)
}

// changeWatch is what changes are seen by: servers, and the feed that they listen to.
type changeWatch struct {
	*deployment
	servers []*server
	pause   time.Duration // between two requests
	feed    *pq.Listener
	// late is how long after a change was acknowledged a request was sent that did not meet it, at
	// most.
	late time.Duration
}

// changesChannel is that of the change feed. The test has one of its own beside it.
const changesChannel, markChannel = "petstore_callers", "test_mark"

func listen(d *deployment) *pq.Listener {
	d.t.Helper()
	l := pq.NewListener(d.databaseURL, time.Second, time.Second, nil)
	d.t.Cleanup(func() { _ = l.Close() })
	for _, channel := range []string{changesChannel, markChannel} {
		assert.NoError(d.t, l.Listen(channel))
	}
	return l
}

// notices returns the notices on the feed since the last time: notices come in the order of their
// commits.
func (w *changeWatch) notices() (all []string) {
	w.t.Helper()
	w.exec(`select pg_notify($1, '')`, markChannel)
	for {
		select {
		case n := <-w.feed.Notify:
			switch {
			case n == nil:
				w.t.Fatal("the test lost its connection to the feed")
			case n.Channel == markChannel:
				return all
			default:
				all = append(all, n.Extra)
			}
		case <-time.After(wait.Limit):
			w.t.Fatal("no notice of the test's own")
		}
	}
}

// lookUps returns how often each server has looked up a caller that it knew.
func (w *changeWatch) lookUps() (all []int) {
	for _, s := range w.servers {
		all = append(all, int(s.Metric(`petstore_directory_queries_total{caller="known"}`)))
	}
	return all
}

// measure makes the changes that often, and returns all delays. It logs those of each change.
func (w *changeWatch) measure(samples int) (all []time.Duration) {
	t, delays := w.t, map[string][]time.Duration{}
	for n := range samples {
		tn := w.tenant(plans.Enterprise, &plans.Quota{PerMinute: 10_000_000, PerDay: 100_000_000}, 1)
		for _, s := range w.servers {
			if a := w.patient.get(s, tn.keys[0].token, "/pets"); a.status != 200 {
				t.Fatalf("before any change: %v", a)
			}
		}
		time.Sleep(freshFor) // Each server has heard of the tenant itself.
		for _, s := range w.servers {
			w.patient.get(s, tn.keys[0].token, "/pets")
		}
		w.notices()
		before, began := w.lookUps(), time.Now()
		for _, c := range changes {
			some := w.makeChange(tn, c)
			delays[c.command] = append(delays[c.command], some...)
			all = append(all, some...)
		}
		w.checkLookUps(before, len(changes), time.Since(began))
		if n == 0 {
			w.rest(tn)
		}
	}
	for _, c := range changes {
		t.Logf("%-60s %s", c.command, percentiles(delays[c.command]))
	}
	t.Logf("%-60s %s", "all changes", percentiles(all))
	return all
}

// freshFor is how long a server that gets no notices serves a caller from memory.
const freshFor = 300 * time.Millisecond

// checkLookUps: each server has looked up the caller once for each change. A server that waits for
// a processor may miss a proof that the feed works, and then looks up by age: half as often as
// without a feed at most, and never where times are checked.
func (w *changeWatch) checkLookUps(before []int, changed int, lasted time.Duration) {
	w.t.Helper()
	byAge := 1 + int(lasted/freshFor)/2
	if wait.Bounds() {
		byAge = 0
	}
	for i, n := range w.lookUps() {
		n -= before[i]
		if n < changed || n > changed+byAge {
			w.t.Errorf(
				"server %d: %d look-ups for %d changes in %v, want at most %d by age",
				i,
				n,
				changed,
				lasted,
				byAge,
			)
		}
	}
}

// rest sends requests while nothing changes, for many times as long as a server without a feed
// serves a caller from memory.
func (w *changeWatch) rest(tn *tenant) {
	w.t.Helper()
	before, began := w.lookUps(), time.Now()
	for time.Since(began) < 10*freshFor {
		for _, s := range w.servers {
			w.client.get(s, tn.keys[0].token, "/pets?limit=1")
		}
		time.Sleep(w.pause) // between two requests
	}
	w.checkLookUps(before, 0, time.Since(began))
}

// makeChange returns how long after the commit each server showed the change. The delays include
// the time of a request, and the pause before it. Nobody waits for a change without a notice.
func (w *changeWatch) makeChange(tn *tenant, c change) []time.Duration {
	w.t.Helper()
	ask := func(s *server) response {
		return w.client.do(w.t.Context(), c.method, s.URL+"/pets?limit=1", tn.keys[0].token, "")
	}
	waiting, giveUp := context.WithTimeout(w.t.Context(), wait.Limit)
	defer giveUp()
	seen, missed := make([]time.Time, len(w.servers)), make([]time.Time, len(w.servers))
	var wg sync.WaitGroup
	for i, s := range w.servers {
		wg.Go(func() {
			for ; waiting.Err() == nil; time.Sleep(w.pause) { // between two requests
				a := ask(s)
				if c.shown(a) {
					seen[i] = a.got
					return
				}
				if a.err == nil && a.status < 500 {
					missed[i] = a.sent
				}
			}
		})
	}
	args := c.of(tn)
	if args[0] == "plan" && args[1] == "edit" {
		args = append(args, "--database-url", storetest.As(w.t, w.databaseURL, storetest.BillingLogin))
	}
	w.ctl(args...)
	acknowledged := time.Now()
	if got := w.notices(); len(got) != 1 {
		w.t.Errorf("%s: notices %q, want one", c.command, got)
		giveUp()
	}
	wg.Wait()
	committed := lastCommit(w.deployment)
	delays := make([]time.Duration, len(w.servers))
	for i, s := range w.servers {
		if seen[i].IsZero() {
			w.t.Fatalf("%s never held on server %d", c.command, i)
		}
		delays[i] = seen[i].Sub(committed)
		w.late = max(w.late, missed[i].Sub(acknowledged))
		assert.True(w.t, delays[i] > 0, c.command, "held", -delays[i], "before its commit, on server", i)
		if a := ask(s); !c.shown(a) {
			w.t.Errorf("%s held on server %d, and then no longer: %v", c.command, i, a)
		}
	}
	return delays
}

// lastCommit returns when the last change by staff was committed.
func lastCommit(d *deployment) time.Time {
	d.t.Helper()
	var at time.Time
	d.scan(&at, `select pg_xact_commit_timestamp(xmin) from audit_entries order by number desc limit 1`)
	return at
}

func percentile(all []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func percentiles(all []time.Duration) string {
	var b strings.Builder
	for _, p := range []int{50, 99, 100} {
		fmt.Fprintf(&b, "p%d %v ", p, percentile(all, p).Round(10*time.Microsecond))
	}
	return fmt.Sprintf("%sof %d", b.String(), len(all))
}
