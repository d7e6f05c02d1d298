package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/wait"
)

const unknownQueries = `petstore_directory_queries_total{caller="unknown"}`

// TestUnknownKeysAreLookedUpWithinTheLimit: 10,000 keys that nobody has, of one address, cause no more look-ups than the address has
// requests.
func TestUnknownKeysAreLookedUpWithinTheLimit(t *testing.T) {
	t.Parallel()
	const limit, requests = 6000, 10_000
	m := newProxiedServer(t, "", fmt.Sprint("PETSTORE_ADDRESS_LIMIT=", limit))
	tenant := m.tenant(plans.Business, nil, 1)
	if a := m.patient.get(m.server, tenant.keys[0].token, "/pets"); a.status != 200 {
		t.Fatalf("first request of a tenant: %v", a)
	}
	begin, queries, trips := time.Now(), m.metric(unknownQueries), m.postgres.trips.Load()
	f := startFlood(m.server, 64, func(int) net.IP { return net.IPv4(127, 0, 0, 1) }, unknownKey)
	wait.Until(t, "10,000 responses", func() bool { return f.total() >= requests })
	f.stop()
	took := time.Since(begin)
	looked, roundTrips := int64(m.metric(unknownQueries)-queries), m.postgres.trips.Load()-trips
	t.Logf("%v in %v: %d look-ups, %d round trips to Postgres", f, took.Round(time.Millisecond), looked, roundTrips)
	// An address has its limit anew in each minute of the clock.
	most := limit * (1 + int64(time.Now().Truncate(time.Minute).Sub(begin.Truncate(time.Minute))/time.Minute))
	// Others are the server's own: heartbeats, and statements that are prepared.
	if own := int64(100 + 20*took.Seconds()); looked > most || roundTrips > most+own {
		t.Errorf("%d look-ups and %d round trips, want at most %d", looked, roundTrips, most)
	}
	if refused := f.counts[429].Load(); refused < f.total()-most {
		t.Errorf("%d of %d refused with 429", refused, f.total())
	}
	if a := m.patient.get(m.server, tenant.keys[0].token, "/pets"); a.status != 200 {
		t.Errorf("a known caller of the same address: %v", a)
	}
}

// TestLogOfAFlood: of requests without a valid key, few are logged each second, and how many more there were.
func TestLogOfAFlood(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	s := d.serve("PETSTORE_ADDRESS_LIMIT=1000", "PETSTORE_HTTP_FAST_PATH=on")
	tenant := d.tenant(plans.Business, nil, 1)
	before := len(s.stderr())
	begin := time.Now()
	f := startFlood(s, 64, func(int) net.IP { return oneAddress(0, 0) }, wrongChecksum)
	for range 20 {
		if a := d.patient.get(s, tenant.keys[0].token, "/pets"); a.status != 200 {
			t.Errorf("a known caller: %v", a)
		}
		time.Sleep(50 * time.Millisecond) // so that the flood lasts a second
	}
	f.stop()
	took := time.Since(begin).Seconds()
	strangers, suppressed, callers := int64(0), int64(0), 0
	count := func() bool {
		strangers, suppressed, callers = 0, 0, 0
		for line := range strings.Lines(s.stderr()[before:]) {
			var e struct {
				Message, Key string
				Suppressed   int64
			}
			_ = json.Unmarshal([]byte(line), &e) // The last line may not be written to its end.
			suppressed += e.Suppressed
			switch {
			case e.Key != "":
				callers++
			case e.Message == "request":
				strangers++
			}
		}
		return strangers+suppressed == f.total()
	}
	wait.Until(t, "a log that accounts for every request", count)
	bytes := float64(len(s.stderr()) - before)
	t.Logf("%v in %.1f s: %d logged, %d suppressed, %d of callers; %.0f lines/s, %.0f bytes/s",
		f, took, strangers, suppressed, callers, float64(strangers)/took, bytes/took)
	if callers != 20 || float64(strangers) > 100*(took+2) {
		t.Errorf("%d lines of strangers in %.1f s, and %d of 20 of a caller", strangers, took, callers)
	}
}

// TestUnknownKeysHoldUpNoCaller: a flood of keys that nobody has, over 4,000 connections, is for known callers as a flood of keys with
// a wrong checksum, which are not looked up: the two take turns.
func TestUnknownKeysHoldUpNoCaller(t *testing.T) {
	t.Parallel()
	connections, turns, lasts, times := 500, 1, 1200*time.Millisecond, time.Duration(20) // beside other tests
	sources := map[string]func(flood, connection int) net.IP{"many addresses": manyAddresses}
	if long() {
		connections, turns, lasts, times = 4000, 2, 8*time.Second, 2
		sources["one address"] = oneAddress
	}
	for name, from := range sources {
		t.Run(name, func(t *testing.T) {
			d := newDeployment(t, false)
			s := d.serve("PETSTORE_ADDRESS_LIMIT=6000", "PETSTORE_HTTP_FAST_PATH=on")
			tenants := make([]*tenant, 8)
			for i := range tenants {
				tenants[i] = d.tenant(plans.Enterprise, &plans.Quota{PerMinute: 1_000_000, PerDay: 1_000_000}, 1)
				if a := d.patient.get(s, tenants[i].keys[0].token, "/pets"); a.status != 200 {
					t.Fatalf("first request of a tenant: %v", a)
				}
			}
			wrong, unknown := &known{}, &known{}
			for range turns {
				for i, turn := range []struct {
					name    string
					request func([]byte) []byte
					*known
				}{{"wrong checksums", wrongChecksum, wrong}, {"unknown keys", unknownKey, unknown}} {
					queries := s.metric(unknownQueries)
					f := startFlood(s, connections, func(n int) net.IP { return from(i, n) }, turn.request)
					time.Sleep(500 * time.Millisecond) // to connect
					turn.send(d, s, tenants, lasts)
					f.stop()
					t.Logf("%s: %v, %.0f look-ups; known callers: %v", turn.name, f, s.metric(unknownQueries)-queries, turn.known)
				}
			}
			if n := unknown.failed(); n > unknown.few() {
				checkServed(t, n, len(unknown.responses), "%d of %d requests of known callers failed", n, len(unknown.responses))
			}
			if most := times * max(wrong.p(.99), 20*time.Millisecond); unknown.p(.99) > most {
				t.Errorf("p99 of known callers %v, and %v during wrong checksums: want at most %v", unknown.p(.99), wrong.p(.99), most)
			}
		})
	}
}
