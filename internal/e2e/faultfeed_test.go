package e2e_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// revokedWithin is how long after its revocation a key may be admitted, whatever happens to the
// listening connection or to the process.
const revokedWithin = 400 * time.Millisecond

// feedFaults are those that the change feed, or a cached list, may not survive.
func feedFaults() []operatorFault {
	faults := []operatorFault{
		{"the listening connection dies silently", tryDeadListener},
		{"a server freezes for 3 s", tryPause(3 * time.Second)},
	}
	if long() {
		faults = append(faults,
			operatorFault{"a server freezes for 0.5 s", tryPause(500 * time.Millisecond)},
			operatorFault{"a server freezes for 15 s", tryPause(15 * time.Second)},
			operatorFault{"a server freezes for 70 s", tryPause(70 * time.Second)})
	}
	return faults
}

// commitFaults are commits that wait.
var commitFaults = []operatorFault{
	{"a commit waits 13 s for a standby, limits in Redis", tryWaitingCommit(true)},
	{"a commit waits 13 s for a standby, limits in memory", tryWaitingCommit(false)},
}

// listenProxy stands before Postgres and can swallow what the connections that listen for changes
// carry, in both directions.
type listenProxy struct{ swallowed atomic.Int64 }

// swallow makes the connections that listen now carry nothing from now on. Nobody sees an end of
// them.
func (p *listenProxy) swallow() { p.swallowed.Store(time.Now().UnixNano()) }

func (p *listenProxy) relay(client, server net.Conn) {
	var listens atomic.Int64
	pass := func([]byte) bool {
		since := listens.Load()
		return since == 0 || since >= p.swallowed.Load()
	}
	relay(client, server, func(piece []byte) bool {
		if bytes.Contains(piece, []byte("LISTEN ")) {
			listens.CompareAndSwap(0, time.Now().UnixNano())
		}
		return pass(piece)
	}, pass)
}

// revoke revokes a key and returns when that was acknowledged.
func (d *deployment) revoke(k key) time.Time {
	d.t.Helper()
	_, err := d.service().Revoke(d.t.Context(), testActor, k.id)
	assert.NoError(d.t, err)
	return time.Now()
}

// lastPass returns how long after the instant the last of the responses was requested that admitted
// its key.
func lastPass(responses []response, revoked time.Time) (late time.Duration) {
	for _, a := range responses {
		if a.status == http.StatusOK {
			late = max(late, a.sent.Sub(revoked))
		}
	}
	return late
}

// tryDeadListener kills the listening connection silently, again and again, and revokes a key at
// some time after each. Another key must be served all the while.
func tryDeadListener(t *testing.T) (r faultResult) {
	proxy := &listenProxy{}
	d := newDeploymentOn(t, storetest.New(t).URL, "")
	s := d.serve("PETSTORE_DATABASE_URL=" + storetest.ProxyURL(t, d.serverURL, proxy.relay))
	rounds := 2
	if long() {
		rounds = 30
	}
	stays := d.tenant(plans.Enterprise, hugeQuota, 1)
	stop := startLoad(1, func(int, int) response {
		defer time.Sleep(2 * time.Millisecond) // a caller's own work
		return d.client.get(s, stays.keys[0].token, "/pets?limit=1")
	})
	for round := range rounds {
		k := d.tenant(plans.Enterprise, hugeQuota, 1).keys[0]
		get := func(int, int) response {
			defer time.Sleep(2 * time.Millisecond) // a caller's own work
			return d.client.get(s, k.token, "/pets?limit=1")
		}
		assert.Equal(t, d.patient.get(s, k.token, "/pets?limit=1").status, http.StatusOK, "before the revocation")
		proxy.swallow()
		// the key is revoked at different times after the fault
		time.Sleep(time.Duration(round%4) * 300 * time.Millisecond)
		requests := startLoad(2, get)
		revoked := d.revoke(k)
		time.Sleep(2500 * time.Millisecond) // longer than the server may take to notice
		responses := requests()
		r.revoked = max(r.revoked, lastPass(responses, revoked))
		wait.Until(t, "a revoked key that is refused", func() bool {
			responses = append(responses, get(0, 0))
			return responses[len(responses)-1].code == "invalid_api_key"
		})
		checkOrder(t, responses)
	}
	r.add(stop())
	return r.check(t, false)
}

// tryPause freezes a server for that long, revokes a key meanwhile, sends requests with it to the
// frozen server, and continues it.
func tryPause(lasts time.Duration) func(t *testing.T) faultResult {
	return func(t *testing.T) (r faultResult) {
		d := newDeployment(t, false)
		s := d.serve()
		tn := d.tenant(plans.Enterprise, hugeQuota, 3)
		stays, unused, k := tn.keys[0], tn.keys[1], tn.keys[2]
		for range 3 {
			for _, k := range tn.keys {
				if a := d.patient.get(s, k.token, "/pets?limit=1"); a.status != http.StatusOK {
					t.Fatalf("before: %v", a)
				}
			}
		}
		assert.NoError(t, s.Signal(syscall.SIGSTOP))
		begin := time.Now()
		time.Sleep(20 * time.Millisecond) // the server is frozen for some time before
		d.revoke(unused)
		revoked := d.revoke(k)
		// What is sent now waits in the frozen server's sockets.
		time.Sleep(max(revokedWithin+10*time.Millisecond, lasts-time.Second))
		answered := make(chan []response, 1)
		go func() {
			answered <- sendAtOnce(120, func(i int) response {
				token := k.token
				if i%4 == 0 {
					token = stays.token
				}
				return d.client.get(s, token, "/pets?limit=1")
			})
		}()
		time.Sleep(max(50*time.Millisecond, lasts-time.Since(begin))) // the freeze lasts that long
		assert.NoError(t, s.Signal(syscall.SIGCONT))
		went := time.Now()
		var ofKey, ofOther []response
		for i, a := range <-answered {
			if i%4 == 0 {
				ofOther = append(ofOther, a)
			} else {
				ofKey = append(ofKey, a)
			}
		}
		for a := d.client.get(s, unused.token, "/pets?limit=1"); time.Since(went) < 500*time.Millisecond; {
			ofKey = append(ofKey, a)
			time.Sleep(2 * time.Millisecond) // a caller's own work
			a = d.client.get(s, unused.token, "/pets?limit=1")
		}
		r.revoked = lastPass(ofKey, revoked)
		r.add(ofOther)
		// All of them were sent later than a key may pass.
		assert.Equal(t, countByCode(ofKey)["200"], 0, "requests with a revoked key passed of", len(ofKey))
		return r.check(t, true)
	}
}

// checkOrder fails the test if a request with a revoked key was admitted although one before it was
// refused.
func checkOrder(t *testing.T, responses []response) {
	t.Helper()
	var refused time.Time
	for _, a := range responses {
		if a.code == "invalid_api_key" && (refused.IsZero() || a.got.Before(refused)) {
			refused = a.got
		}
	}
	for _, a := range responses {
		if a.status == http.StatusOK && !refused.IsZero() && a.sent.After(refused) {
			t.Errorf("a revoked key passed %v after it was refused", a.sent.Sub(refused))
		}
	}
}

// check fails the test if a good key was refused. mayFail: requests fail because of the fault.
func (r *faultResult) check(t *testing.T, mayFail bool) faultResult {
	t.Helper()
	unserved := r.refused
	if !mayFail {
		unserved += r.failed
	}
	checkServed(t, unserved, r.sent, "with a good key %d refused, %d failed of %d", r.refused, r.failed, r.sent)
	return *r
}

// tryWaitingCommit lets a write wait for a standby that is not there, for longer than a write
// intent lasts. With Redis its server is killed, and another one has the lists. When it becomes
// visible, no list is older. The column "over-admitted" has the stale lists.
func tryWaitingCommit(withRedis bool) func(t *testing.T) faultResult {
	return func(t *testing.T) (r faultResult) {
		postgres := storetest.NewServer(t)
		redisURL := ""
		if withRedis {
			redisURL = redistest.New(t).URL
		}
		d := newDeploymentOn(t, postgres.URL, redisURL)
		s := d.serve()
		tn := d.tenant(plans.Enterprise, hugeQuota, 1)
		token := tn.keys[0].token
		reader := s
		if withRedis {
			reader = d.serve()
		}
		list := func() response { return d.client.get(reader, token, "/pets?limit=100") }
		awaitCached(d, reader, list)

		d.exec(`alter system set synchronous_standby_names = 'gone'`)
		d.exec(`select pg_reload_conf()`)
		name := ""
		wait.Until(t, "a write that waits for the standby", func() bool {
			name = fmt.Sprint("written at ", time.Now().UnixNano())
			return d.client.post(
				s,
				token,
				name,
			).code == "outcome_unknown" // not one of which the key was not found in time
		})
		if withRedis {
			s.Kill()
		}
		var meanwhile []response
		// the server is frozen for some time before
		for end := time.Now().Add(13 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			meanwhile = append(meanwhile, list())
		}
		r.add(meanwhile)
		if n := countByCode(meanwhile); n["200"] != len(meanwhile) {
			t.Logf("meanwhile: %v", n)
		}
		if n := d.number(`select count(*) from pets where name = $1`, name); n != 0 {
			t.Fatal("the write became visible before its time")
		}
		d.exec(`alter system reset synchronous_standby_names`)
		d.exec(`select pg_reload_conf()`)
		wait.Until(
			t,
			"the write",
			func() bool { return d.number(`select count(*) from pets where name = $1`, name) == 1 },
		)
		// lists of a second
		for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if a := list(); a.status == http.StatusOK && !bytes.Contains(a.body, []byte(name)) {
				r.over++
			}
		}
		assert.True(t, r.over <= 0, r.over, "lists were older than the write")
		awaitCached(d, reader, list) // The catalogue has a stamp again.
		return r.check(t, withRedis) // After 10 s a server of several refuses what it can't record.
	}
}

// awaitCached waits until the server serves the list from its cache.
func awaitCached(d *deployment, s *server, list func() response) {
	d.t.Helper()
	wait.Until(d.t, "a list from the cache", func() bool {
		before := s.Metric(listsFromMemory)
		list()
		list()
		return s.Metric(listsFromMemory) > before
	})
}

// add counts what a customer met whose key was good and whose limits were far.
func (r *faultResult) add(responses []response) {
	r.sent += len(responses)
	for _, a := range responses {
		switch {
		case a.status == 0 || a.status >= 500:
			r.failed++
		case a.status != http.StatusOK:
			r.refused++
		}
		if a.err == nil {
			r.slowest = max(r.slowest, a.took())
		}
	}
}
