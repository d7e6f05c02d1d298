package e2e_test

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// uncleanFaults are ends without a report, together with the loss of Redis.
var uncleanFaults = []operatorFault{
	{"kill -9 of a server and the loss of Redis, again and again", tryKilledPairs},
	{"a server freezes and Redis is lost, then it resumes", tryFrozenPair},
}

// unclean is a deployment of one server that stays and one that ends silently.
type unclean struct {
	*deployment
	t      *testing.T
	redis  *redistest.Server
	stays  *server
	result faultResult
	// sent is how many requests of the tenant were admitted.
	sent int64
}

func newUnclean(t *testing.T) *unclean {
	t.Helper()
	redis := redistest.New(t)
	u := &unclean{t: t, redis: redis, deployment: newDeploymentOn(t, storetest.New(t).URL, redis.URL)}
	u.stays = u.serve()
	return u
}

// silentMargin is what a Free tenant loses of its windows when a server ends silently:
// limits.Margin.
const silentMargin = 3

// take sends n requests of a tenant, one after the other, and returns what remains of its day. A
// 503, by a new server on a busy machine, counts nothing, so the request is sent again.
func (u *unclean) take(s *server, tn *tenant, n int) (left int64) {
	u.t.Helper()
	for range n {
		var a response
		wait.Until(u.t, "a request that is answered", func() bool {
			a = u.client.get(s, tn.keys[0].token, "/pets?limit=1")
			return a.status != http.StatusServiceUnavailable
		})
		if a.status != http.StatusOK {
			u.t.Fatalf("a request within the limits: %v", a)
		}
		u.sent++
		left = a.windows["day"].remaining
	}
	return left
}

// afterLoss sends requests of a tenant until one is admitted. Before the next term begins, a
// response is 503. It returns what remains of the tenant's day.
func (u *unclean) afterLoss(tn *tenant) (left int64) {
	u.t.Helper()
	// each response until then is checked
	for end := time.Now().Add(wait.Limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		a := u.client.get(u.stays, tn.keys[0].token, "/pets?limit=1")
		u.result.slowest = max(u.result.slowest, a.took())
		switch {
		case a.status == http.StatusOK:
			return a.windows["day"].remaining
		case a.status == http.StatusTooManyRequests:
			u.result.refused++
		case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") == "1":
			u.result.failed++
		default:
			u.t.Errorf("while no server may decide: %v, want 503 with Retry-After: 1", a)
			return 0
		}
	}
	u.t.Errorf("nothing was admitted within %v", wait.Limit)
	return 0
}

// tryKilledPairs kills a server and empties Redis, several times in a row. A Free tenant sends two
// requests to each server that is killed. Another tenant has never sent one to any of them.
func tryKilledPairs(t *testing.T) faultResult {
	u, pairs := newUnclean(t), int64(2)
	if long() {
		pairs = 9
	}
	tn, other := u.freshTenant(plans.Free, nil, 1), u.freshTenant(plans.Pro, nil, 1)
	var left int64
	for range pairs {
		killed := u.serve()
		awaitRedis(t, "up", killed, u.stays)
		u.take(killed, tn, 2)
		killed.Kill()
		u.redis.Flush()
		u.afterLoss(other)
		if left = u.afterLoss(tn); left > 0 {
			u.sent++
		}
		awaitRedis(t, "up", u.stays)
	}
	lost := 1000 - u.sent - left
	t.Logf("%d pairs: %d requests admitted, %d of 1,000 left: %d lost", pairs, u.sent, left, lost)
	if lost > pairs*silentMargin || lost < 0 {
		t.Errorf(
			"%d of the day's 1,000 were lost, want at most %d for each of %d silent servers",
			lost,
			silentMargin,
			pairs,
		)
	}
	checkServed(
		t,
		u.result.refused,
		int(u.sent)+u.result.failed,
		"%d requests within the limits had 429",
		u.result.refused,
	)
	return u.result
}

// tryFrozenPair freezes a server and empties Redis. The server records what it admitted when it
// resumes, so the tenant has lost nothing by the next term.
func tryFrozenPair(t *testing.T) faultResult {
	u := newUnclean(t)
	frozen := u.serve()
	awaitRedis(t, "up", frozen, u.stays)
	tn := u.freshTenant(plans.Free, nil, 1)
	u.take(frozen, tn, 2)
	_ = frozen.Signal(syscall.SIGSTOP)
	u.redis.Flush()
	left := u.afterLoss(tn)
	u.sent++
	if lost := 1000 - u.sent - left; lost < 0 || lost > silentMargin {
		t.Errorf("%d of the day's 1,000 are lost while a server is frozen, want at most %d", lost, silentMargin)
	}
	_ = frozen.Signal(syscall.SIGCONT)
	time.Sleep(2 * time.Second) // the server records what it admitted
	awaitRedis(t, "up", frozen, u.stays)
	// The next term, in which nobody is silent.
	u.redis.Flush()
	left = u.afterLoss(tn)
	u.sent++
	assert.Equal(t, 1000-u.sent-left, 0, "of the day's 1,000 are lost after the server resumed")
	return u.result
}
