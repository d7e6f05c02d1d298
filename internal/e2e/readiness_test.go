package e2e_test

import (
	"bytes"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestReadinessUnderFlood sends /readyz from 200 callers while requests of tenants use all
// connections of the API to Postgres. The response stays 200, and costs at most four pings per
// second. That it is fast is a bound.
func TestReadinessUnderFlood(t *testing.T) {
	t.Parallel()
	var pings atomic.Int64
	database := storetest.New(t)
	d := newDeploymentOn(t, database.URL, "")
	s := d.serve("PETSTORE_DATABASE_URL=" + storetest.ProxyURL(t, database.APIURL, func(client, server net.Conn) {
		relay(client, server, func(piece []byte) bool {
			pings.Add(int64(bytes.Count(piece, []byte("select case when pg_is_in_recovery()"))))
			return true
		}, nil)
	}))
	tenants := make([]*tenant, 13)
	for i := range tenants {
		tenants[i] = d.tenant(plans.Enterprise, hugeQuota, 1)
		if a := d.patient.post(s, tenants[i].keys[0].token, "first"); a.status != 201 {
			t.Fatalf("an animal: %v", a)
		}
	}
	// The last one posts nothing else, so that it finds no connection if nobody does.
	busy, last := tenants[:12], tenants[12]
	stopTenants := startLoad(4*len(busy), func(caller, _ int) response {
		return d.client.post(s, busy[caller%len(busy)].keys[0].token, "waits")
	})
	blocking, err := d.sql.BeginTx(t.Context(), nil)
	assert.NoError(t, err)
	defer func() { _ = blocking.Rollback() }()
	_, err = blocking.ExecContext(t.Context(), `lock table pets`)
	assert.NoError(t, err)
	wait.Until(
		t,
		"no connection for tenants",
		func() bool { return d.client.post(s, last.keys[0].token, "waits").code == "unavailable" },
	)

	transport := &http.Transport{MaxIdleConnsPerHost: 32, MaxConnsPerHost: 32}
	defer transport.CloseIdleConnections()
	flood := &http.Client{Transport: transport, Timeout: timeout}
	begin, before := time.Now(), pings.Load()
	stopFlood := startLoad(200, func(int, int) response { return get(flood, "http://"+s.Admin+"/readyz", "") })
	time.Sleep(time.Second) // the flood lasts that long
	floods := stopFlood()
	took, pinged := time.Since(begin), pings.Load()-before
	waited := stopTenants()

	var all []time.Duration
	for _, a := range floods {
		all = append(all, a.took())
	}
	t.Logf("%d requests for /readyz in %v: %v, %s, %d pings; the tenants' requests: %v",
		len(floods), took.Round(time.Millisecond), countByCode(floods), percentiles(all), pinged, countByCode(waited))
	checkServed(
		t,
		len(floods)-countByCode(floods)["200"],
		len(floods),
		"/readyz: %v, want 200 only",
		countByCode(floods),
	)
	// The first and the last may have been under way.
	if most := int64(took/(250*time.Millisecond)) + 2; pinged == 0 || pinged > most {
		t.Errorf("%d pings in %v, want 1 to %d", pinged, took, most)
	}
	wait.Bound(t, "p95 of /readyz", percentile(all, 95), time.Second)
	if n := countByCode(waited); n["503 unavailable"] == 0 {
		t.Errorf("the tenants' requests: %v, want some that found no connection", n)
	}
}
