package e2e_test

import (
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/plans"
)

// TestOneTenantHoldsUpNoOther: many connections of one tenant change the same animal, so that each waits for a lock. Other tenants'
// requests, all of which need Postgres, are served.
func TestOneTenantHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	connections, lasts := 500, 1500*time.Millisecond
	if long() {
		connections, lasts = 1500, 15*time.Second
	}
	d := newDeployment(t, false)
	s := d.serve("PETSTORE_HTTP_FAST_PATH=on")
	quota := &plans.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}
	greedy, others := d.tenant(plans.Enterprise, quota, 1), make([]*tenant, 5)
	animal := idOf(d.patient.post(s, greedy.keys[0].token, "Rex"))
	for i := range others {
		others[i] = d.tenant(plans.Enterprise, quota, 1)
		if a := d.patient.post(s, others[i].keys[0].token, "Rex"); a.status != 201 {
			t.Fatalf("first request of a tenant: %v", a)
		}
	}
	var changes atomic.Int64
	head := fmt.Sprintf("PATCH /v1/pets/%d HTTP/1.1\r\nHost: flood\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: ",
		animal, greedy.keys[0].token)
	f := startFlood(s, connections, func(n int) net.IP { return manyAddresses(0, n) }, func(b []byte) []byte {
		body := fmt.Sprintf(`{"name":"Rex %d"}`, changes.Add(1))
		b = append(strconv.AppendInt(append(b, head...), int64(len(body)), 10), "\r\n\r\n"...)
		return append(b, body...)
	})
	time.Sleep(500 * time.Millisecond) // to connect
	k := &known{}
	k.send(d, s, others, lasts)
	f.stop()
	t.Logf("changes of one animal over %d connections: %v; other tenants: %v", connections, f, k)
	if n := k.failed(); n > k.few() {
		checkServed(t, n, len(k.responses), "%d of %d requests of other tenants failed", n, len(k.responses))
	}
}
