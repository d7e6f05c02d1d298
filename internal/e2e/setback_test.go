package e2e_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

var setBackFaults = []operatorFault{
	{"a dump restored under running servers", tryRestore},
	{"a standby 2 s behind promoted", tryPromotion},
}

// admitsAgain is within what time after a set-back all requests are admitted. A fence takes three
// seconds of it.
const admitsAgain = 5 * time.Second

// setBack is two servers with Redis while their database is set back. Two callers of tenant narrow
// use up its limit during that, and two of wide never do.
type setBack struct {
	*deployment
	redis        *redistest.Server
	servers      []*server
	narrow, wide *tenant

	// stopped is when the database stopped to serve, back when it was there again.
	stopped, back time.Time
}

func newSetBack(t *testing.T, d *deployment, redis *redistest.Server) *setBack {
	t.Helper()
	b := &setBack{deployment: d, redis: redis}
	b.servers = d.serveAll(2)
	for _, s := range b.servers {
		s.Expects = "permission denied" // In the middle of a restore.
	}
	b.wide = d.tenant(plans.Enterprise, hugeQuota, 2)
	b.narrow = d.freshTenant(plans.Enterprise, enterprise(400, 100_000), 2)
	return b
}

// run sends requests while fault sets the database back, and long enough after it for the narrow
// tenant's limit to be reached.
func (b *setBack) run(t *testing.T, fault func()) faultResult {
	t.Helper()
	load := func(tn *tenant) func() []response {
		return startLoad(len(b.servers), func(caller, _ int) response {
			defer time.Sleep(20 * time.Millisecond) // a caller's own work
			return b.client.get(b.servers[caller], tn.keys[caller].token, "/pets?limit=1")
		})
	}
	stopNarrow, stopWide := load(b.narrow), load(b.wide)
	time.Sleep(1500 * time.Millisecond) // the load before the fault
	fault()
	time.Sleep(6 * time.Second) // the load after the fault, for longer than servers may take
	return b.result(t, stopNarrow(), stopWide())
}

func (b *setBack) result(t *testing.T, narrow, wide []response) (r faultResult) {
	t.Helper()
	inMinute := map[int64]int64{}
	for _, a := range narrow {
		if w, ok := a.windows["minute"]; ok && a.status == http.StatusOK {
			inMinute[limits.MinuteAt(b.narrow.ID, w.reset.Add(-30*time.Second))]++
		}
	}
	for _, n := range inMinute {
		r.over = max(r.over, n-b.narrow.Quota.PerMinute)
	}
	r.add(wide)
	last := b.back
	for _, a := range wide {
		if a.err != nil || a.status != http.StatusOK {
			last = maxTime(last, a.got)
		}
	}
	t.Logf(
		"the database was away for %v; %v after that all requests were admitted. Admitted to the limited tenant by "+
			"minute: %v; others: %v",
		b.back.Sub(b.stopped).Round(
			time.Millisecond,
		),
		last.Sub(b.back).Round(time.Millisecond),
		inMinute,
		countByCode(wide),
	)
	assert.True(t, r.over <= 0, r.over, "admitted over the limit")
	r.again = last.Sub(b.back)
	for i, s := range b.servers {
		wait.Until(t, "an admitted request", func() bool {
			return b.client.get(s, b.wide.keys[i].token, "/pets?limit=1").status == http.StatusOK
		})
		// Redis may have been lost once more, on a busy machine.
		wait.Until(t, "a server that is ready", func() bool { return s.Ready().Status == "ready" })
	}
	return r
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// tryRestore takes a dump, has the terms change, and restores the dump into the database of the
// running servers.
func tryRestore(t *testing.T) faultResult {
	redis := redistest.New(t)
	d := newDeploymentOn(t, storetest.New(t).URL, redis.URL)
	b := newSetBack(t, d, redis)
	dump := filepath.Join(t.TempDir(), "dump")
	return b.run(t, func() {
		pgProgram(t, "pg_dump", "--format=custom", "--file", dump, "--dbname", d.databaseURL)
		redis.Flush()
		time.Sleep(3 * time.Second) // Two terms, and what they count is not in the dump.
		b.stopped = time.Now()
		// --clean can't drop the constraints of partitions, but what is not there.
		d.exec(`drop table usage_hourly, usage_daily, audit_entries cascade`)
		pgProgram(t, "pg_restore", "--clean", "--if-exists", "--dbname", d.databaseURL, dump)
		b.back = time.Now()
	})
}

// tryPromotion promotes an asynchronous standby that lacks the last two seconds, in which the terms
// changed.
func tryPromotion(t *testing.T) faultResult {
	primary := storetest.NewServer(t)
	standby := primary.Standby()
	through := newSwitch(t, primary.URL)
	redis := redistest.New(t)
	d := newDeploymentAs(t, primary.URL, through.url(t, primary.APIURL), primary.SupportURL, redis.URL)
	b := newSetBack(t, d, redis)
	return b.run(t, func() {
		standby.Detach()
		redis.Flush()
		time.Sleep(2 * time.Second) // the standby is that far behind
		b.stopped = time.Now()
		primary.Kill()
		standby.Promote()
		through.to(t, standby.URL)
		b.back = time.Now()
	})
}

// pgProgram runs one of PostgreSQL's programs.
func pgProgram(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := sandbox.Command(t, storetest.Program(t, name), args...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}
