package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

var clockFaults = []operatorFault{
	{"a server's clock 25 h ahead for one request", tryClockOnce},
	{"a server's clock 25 h ahead for long", tryClockForLong},
	{"a server's clock set back by a minute after a failed look-up", tryClockBack},
}

// serveWithClock starts a server whose wall clock set moves by that much from the real time on,
// beginning with ahead.
func (d *deployment) serveWithClock(ahead time.Duration, env ...string) (s *server, set func(ahead time.Duration)) {
	d.t.Helper()
	other, clock, set := d.withClock(ahead)
	return other.serve(append(env, clock)...), set
}

// withClock returns the deployment with a program whose wall clock set moves, and the variable of
// its environment.
func (d *deployment) withClock(ahead time.Duration) (other *deployment, env string, set func(ahead time.Duration)) {
	d.t.Helper()
	path := filepath.Join(d.t.TempDir(), "clock")
	set = func(ahead time.Duration) {
		next := path + ".next"
		assert.NoError(
			d.t,
			errors.Join(os.WriteFile(next, fmt.Append(nil, int64(ahead/time.Second)), 0o600), os.Rename(next, path)),
		)
		time.Sleep(20 * time.Millisecond) // the server reads the file every 2 ms
	}
	set(ahead)
	other = d.in(d.t)
	other.petstore = planted(d.t)
	return other, "TEST_CLOCK=" + path, set
}

// clockTrial is two servers, one with a clock that can be set, and what two tenants met on both.
type clockTrial struct {
	*deployment
	redis   *redistest.Server
	set     func(ahead time.Duration)
	wrong   *server
	servers []*server
	// daily has 500 requests a day. each has 60 a minute.
	daily, each *tenant
	admitted    int64
	result      faultResult
}

const clockPerDay = 500

func newClockTrial(t *testing.T, ahead time.Duration) *clockTrial {
	t.Helper()
	redis := redistest.New(t)
	tr := &clockTrial{deployment: newDeploymentOn(t, storetest.New(t).URL, redis.URL), redis: redis}
	tr.avoidMidnight()
	tr.wrong, tr.set = tr.serveWithClock(ahead)
	tr.servers = []*server{tr.wrong, tr.serve()}
	tr.daily = tr.tenant(plans.Enterprise, &plans.Quota{PerMinute: clockPerDay, PerDay: clockPerDay}, 1)
	tr.each = tr.tenantEnding(time.Now().Add(5*time.Second), plans.Free, nil, 1)
	return tr
}

// send sends requests, and notes 5xx and how long they took.
func (tr *clockTrial) send(to *server, token string) response {
	a := tr.client.get(to, token, "/pets?limit=1")
	tr.result.slowest = max(tr.result.slowest, a.took())
	if a.err != nil || a.status >= 500 {
		tr.t.Logf("%v", a)
		tr.result.failed++
	}
	return a
}

// spend sends requests of the tenant with a limit per day to both servers.
func (tr *clockTrial) spend(requests int) (last response) {
	for i := range requests {
		last = tr.send(tr.servers[i%len(tr.servers)], tr.daily.keys[0].token)
		tr.admitted += admitted([]response{last})
	}
	return last
}

// end spends more than the day has left, and counts what is wrong. Then Redis is emptied, so that
// the servers begin with what Postgres has, and the other tenant uses up its next minute.
func (tr *clockTrial) end() faultResult {
	tr.t.Helper()
	last := tr.spend(clockPerDay)
	tr.result.over = max(0, tr.admitted-clockPerDay)
	tr.result.refused += int(max(0, clockPerDay-tr.admitted))
	switch wait := last.integer("Retry-After"); {
	case last.code == "unavailable":
		checkServed(tr.t, 1, clockPerDay, "after the day's limit: %v", last)
	case last.status != http.StatusTooManyRequests || wait > 86400:
		tr.t.Errorf("after the day's limit: %v, Retry-After %d", last, wait)
	}
	tr.redis.Flush()
	tr.nextMinute()
	assert.True(tr.t, tr.result.over <= 0, tr.admitted, "admitted of", clockPerDay, tr.result)
	checkServed(tr.t, tr.result.refused+tr.result.failed, clockPerDay, "%d admitted of %d, %d refused, %d failed",
		tr.admitted, clockPerDay, tr.result.refused, tr.result.failed)
	return tr.result
}

// nextMinute uses up the minute of the other tenant, and sends its whole limit in the next.
func (tr *clockTrial) nextMinute() {
	tr.t.Helper()
	token := tr.each.keys[0].token
	var a response
	for i := range 70 {
		a = tr.send(tr.servers[i%2], token)
	}
	wait := time.Duration(a.integer("Retry-After")) * time.Second
	switch {
	case wait > time.Minute:
		tr.t.Errorf("after the minute's limit: %v, Retry-After %v", a, wait)
		wait = 8 * time.Second
	case a.status != http.StatusTooManyRequests: // 70 requests may take until the next minute.
		checkServed(tr.t, 1, 70, "after the minute's limit: %v", a)
		wait = 8 * time.Second
	}
	time.Sleep(wait) // as Retry-After says
	n := 0
	for i := range 60 {
		n += int(admitted([]response{tr.send(tr.servers[i%2], token)}))
	}
	tr.result.refused += 60 - n
	tr.result.over += max(0, int64(n)-60)
}

// tryClockOnce: the clock of one server is 25 hours ahead for one request of each tenant.
func tryClockOnce(t *testing.T) faultResult {
	tr := newClockTrial(t, 0)
	tr.spend(300)
	tr.set(25 * time.Hour)
	tr.admitted += admitted(
		[]response{tr.send(tr.wrong, tr.daily.keys[0].token), tr.send(tr.wrong, tr.daily.keys[0].token)},
	)
	tr.send(tr.wrong, tr.each.keys[0].token)
	tr.set(0)
	tr.spend(60)
	return tr.end()
}

// tryClockForLong: the clock of one server is 25 hours ahead from its start on. Operators are told,
// and nobody else notices.
func tryClockForLong(t *testing.T) faultResult {
	tr := newClockTrial(t, 25*time.Hour)
	tr.spend(300)
	_, token, err := tr.service().Issue(t.Context(), testActor, keys.Request{
		Tenant: tr.each.Name, Environment: keys.Live, ExpiresAt: time.Now().Add(time.Hour),
	})
	assert.NoError(t, err)
	if a := tr.send(tr.wrong, token.Reveal()); a.code == "unavailable" {
		checkServed(t, 1, clockPerDay, "a key that expires in an hour: %v", a)
	} else if a.status != http.StatusOK {
		t.Errorf("a key that expires in an hour: %v", a)
		tr.result.refused++
	}
	tr.postOnce()
	tr.checkWarnsOperators()
	result := tr.end()
	wait.Until(t, "recorded usage", func() bool { return tr.number(`select sum(admitted) from usage_hourly`) > 0 })
	n := tr.number(`select count(*) from usage_hourly where hour > now()`)
	assert.True(t, n <= 0, "usage of", n, "hours that have not begun")
	tr.set(0)
	wait.Until(t, "a clock that is right", func() bool { return tr.wrong.Metric("petstore_clock_ahead_seconds") < 1 })
	return result
}

// postOnce: a request that was sent to both servers with one Idempotency-Key took effect once.
func (tr *clockTrial) postOnce() {
	tr.t.Helper()
	var answers []response
	for _, s := range []*server{tr.servers[1], tr.servers[0]} {
		answers = append(
			answers,
			tr.client.do(
				tr.t.Context(),
				http.MethodPost,
				s.URL+"/pets",
				tr.each.keys[0].token,
				`{"name":"once","categoryId":1}`,
				"Idempotency-Key",
				"once",
			),
		)
	}
	if i := slices.IndexFunc(answers, func(a response) bool { return a.code == "unavailable" }); i >= 0 {
		checkServed(tr.t, 1, clockPerDay, "with an Idempotency-Key: %v", answers[i])
		return
	}
	if n := tr.number(
		`select count(*) from pets where name = 'once'`,
	); n != 1 ||
		answers[1].header.Get("Idempotent-Replayed") != "true" {
		tr.t.Errorf("%d animals of one request; %v, %v", n, answers[0], answers[1])
	}
}

func (tr *clockTrial) checkWarnsOperators() {
	tr.t.Helper()
	const hours = "25h0m0s ahead of"
	assert.Equal(tr.t, tr.wrong.Logged("the clock of this server", hours), 1, "lines of the log tell of the clock")
	if ahead := tr.wrong.Metric("petstore_clock_ahead_seconds"); ahead < 89990 || ahead > 90010 {
		tr.t.Errorf("petstore_clock_ahead_seconds is %v", ahead)
	}
	for path, want := range map[string]string{"/readyz": `"clock":"off"`, "/readyz?verbose": hours} {
		if _, body := tr.wrong.Ask(path); !strings.Contains(string(body), want) {
			tr.t.Errorf("%s: %s", path, body)
		}
	}
	if c := tr.ctl("doctor"); !strings.Contains(c.stdout, "the clocks of 1 server differ from the database's: ") ||
		!strings.Contains(c.stdout, " by 25h0m0s, ahead") {
		tr.t.Errorf("doctor: %s", c.stdout)
	}
	if _, body := tr.servers[1].Ask("/readyz"); !strings.Contains(string(body), `"clock":"ok"`) {
		tr.t.Errorf("the server whose clock is right: %s", body)
	}
}

// tryClockBack: the clock of the only server is set back by a minute after a look-up of a key has
// failed. Other keys are looked up.
func tryClockBack(t *testing.T) (r faultResult) {
	d := newDeployment(t, false)
	s, set := d.serveWithClock(0)
	tn := d.tenant(plans.Business, nil, 10)
	tx, err := d.sql.BeginTx(t.Context(), nil)
	assert.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `lock table api_keys in access exclusive mode`)
	assert.NoError(t, err)
	if a := d.client.get(s, tn.keys[0].token, "/pets"); a.status != http.StatusServiceUnavailable {
		t.Fatalf("a look-up that Postgres does not answer: %v", a)
	}
	time.Sleep(2 * time.Second) // Now it has failed.
	set(-time.Minute)
	assert.NoError(t, tx.Rollback())
	time.Sleep(300 * time.Millisecond) // within which the next look-up would come by the clock before
	for _, k := range tn.keys {
		a := d.client.get(s, k.token, "/pets")
		r.slowest = max(r.slowest, a.took())
		if a.status != http.StatusOK {
			t.Logf("after the failure: %v", a)
			r.failed++
		}
	}
	checkServed(t, r.failed, len(tn.keys), "%d of %d keys were not served", r.failed, len(tn.keys))
	return r
}
