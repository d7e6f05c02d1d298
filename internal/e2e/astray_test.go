package e2e_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/sandbox"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// poolsOfServer is how many pools a server has, of which each looks for a session once a second.
// Beside them the change feed connects.
const poolsOfServer = 3

// TestAddressLedAstray: under load the address of Postgres leads to a standby for seven seconds,
// and connections that were made to it stay there. The two servers serve again without a restart,
// and so does petstorectl tail. While no session takes writes, each pool opens one a second.
func TestAddressLedAstray(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"directly", "target_session_attrs=read-write", "PgBouncer in session mode"} {
		t.Run(by, func(t *testing.T) { t.Parallel(); tryAddressLedAstray(t, by) })
	}
}

func tryAddressLedAstray(t *testing.T, by string) {
	primary := storetest.NewServer(t)
	standby := primary.Standby()
	address := newSwitch(t, primary.URL)
	d := newDeploymentAs(t, primary.URL, address.url(t, primary.APIURL), primary.SupportURL, redistest.New(t).URL)
	staffURL := address.url(t, primary.SupportURL)
	switch {
	case strings.HasPrefix(by, "PgBouncer"):
		d.serverURL = startPgBouncer(t, d.serverURL, "session", "default_pool_size = 60")
	case by != "directly":
		d.serverURL += "&" + by
	}
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	token := tn.keys[0].token
	servers := d.serveAll(2)
	tail := programs.Start(t, sandbox.Command(t, program(t, "petstorectl"), "tail", tn.Name),
		"PETSTORE_DATABASE_URL="+staffURL)
	stop := startLoad(8, func(caller, n int) response {
		if s := servers[caller%2]; caller < 4 {
			return d.client.get(s, token, "/pets?limit=1")
		} else {
			return d.client.post(s, token, fmt.Sprintf("astray-%d-%d", caller, n))
		}
	})
	time.Sleep(time.Second) // the load before the fault
	before, began := address.dialed.Load(), time.Now()
	address.to(t, standby.URL)
	time.Sleep(7 * time.Second) // the fault lasts that long
	for _, s := range servers {
		assert.Equal(t, s.Ready().Status, "unavailable", "a server that reaches a standby alone")
	}
	address.lead(t, primary.URL)
	dialed, took := address.dialed.Load()-before, time.Since(began)
	for _, s := range servers {
		wait.Until(t, "a server that serves again", func() bool {
			return d.client.post(s, token, "again").status == 201
		})
		wait.Until(t, "a server that is ready again", s.isReady)
	}
	back := time.Since(began) - took
	during := stop()
	stop = startLoad(8, func(caller, n int) response {
		if s := servers[caller%2]; caller < 4 {
			return d.client.get(s, token, "/pets?limit=1")
		} else {
			return d.client.post(s, token, fmt.Sprintf("back-%d-%d", caller, n))
		}
	})
	time.Sleep(2 * time.Second) // the load after the fault
	after := stop()
	t.Logf("%s: %d connections in %v; with the fault %v, writes again after %v, then %v", by, dialed,
		took.Round(time.Millisecond), countByCode(during), back.Round(time.Millisecond), countByCode(after))
	unserved := len(after) - countByCode(after)["200"] - countByCode(after)["201"]
	checkServed(t, unserved, len(after), "after the fault: %v", countByCode(after))
	// Each pool, twice as it ends, and the feeds and their attempts.
	seconds := int64(took/time.Second) + 3
	if most := 2 * seconds * (poolsOfServer + 2); dialed > most {
		t.Errorf("%d connections in %d s, want at most %d", dialed, seconds, most)
	}
	seen := strings.Count(tail.Stdout(), "usage\t")
	wait.Until(t, "tail to show what is counted after the fault", func() bool {
		_ = d.client.get(servers[0], token, "/pets?limit=1")
		return strings.Count(tail.Stdout(), "usage\t") > seen
	}, tail.Stdout, tail.Stderr)
	tail.Expects = "interrupted"
	tail.Stop(syscall.SIGINT)
}

// TestRedisLedAstray: a failover of Redis behind one address, at which connections to the demoted
// master stay. The servers count in the new one without a restart.
func TestRedisLedAstray(t *testing.T) {
	t.Parallel()
	first, second := redistest.New(t), redistest.New(t)
	var addr atomic.Value
	addr.Store(first.Addr)
	address := storetest.ProxyTo(t, func() (net.Conn, error) { return net.Dial("tcp", addr.Load().(string)) }, passOn)
	d := newDeploymentOn(t, storetest.New(t).URL, "redis://"+address+"/0")
	tn := d.tenant(plans.Enterprise, hugeQuota, 1)
	servers := d.serveAll(2)
	awaitRedis(t, "up", servers...)
	host, port, _ := net.SplitHostPort(second.Addr)
	ofRedis(t, second.Addr, "REPLICAOF", "NO", "ONE")
	addr.Store(second.Addr)
	ofRedis(t, first.Addr, "REPLICAOF", host, port)
	stop := startLoad(4, func(caller, _ int) response {
		return d.client.get(servers[caller%2], tn.keys[0].token, "/pets?limit=1")
	})
	wait.Until(t, "counters in the new master", func() bool {
		return strings.Contains(ofRedis(t, second.Addr, "INFO", "keyspace"), "db0:keys=") &&
			servers[0].Ready().Redis == "up" && servers[1].Ready().Redis == "up"
	})
	t.Logf("meanwhile %v", countByCode(stop()))
}
