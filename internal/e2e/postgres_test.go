package e2e_test

import (
	"fmt"

	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// TestPostgresAway stops, kills and pauses Postgres under load. Requests end in 503 before Postgres is
// back, never in 401, and the same servers continue when it is. That a request ends in 2 s is a bound.
func TestPostgresAway(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		name        string
		stop, start func(*storetest.PrivateServer)
	}{
		{"stopped", (*storetest.PrivateServer).Stop, (*storetest.PrivateServer).Start},
		{"killed", (*storetest.PrivateServer).Kill, (*storetest.PrivateServer).Start},
		{"paused", (*storetest.PrivateServer).Pause, (*storetest.PrivateServer).Resume},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			postgres := storetest.NewServer(t)
			d := newDeploymentOn(t, postgres.URL, "")
			s := d.serve()
			tn := d.tenant(plans.Enterprise, hugeQuota, 1)
			strangers := d.tenant(plans.Enterprise, hugeQuota, 10)
			stop := startLoad(8, func(caller, request int) response { return anyRequest(d, s, tn, caller, request) })
			time.Sleep(500 * time.Millisecond) // the load before the fault

			how.stop(postgres)
			down := time.Now()
			wait.Until(t, "a response of 503 unavailable", func() bool {
				return d.client.get(s, tn.keys[0].token, "/pets").code == "unavailable"
			})
			// Keys that this server does not know are not invalid: it cannot look them up.
			var unknown []response
			for _, k := range strangers.keys {
				unknown = append(unknown, d.client.get(s, k.token, "/pets"))
				time.Sleep(150 * time.Millisecond) // the server asks again after a while
			}
			if n := countByCode(unknown)["503 unavailable"]; n != len(unknown) {
				t.Errorf("keys not seen before, while Postgres is down: %v, want only 503", countByCode(unknown))
			}
			if r := s.Ready(); r.HTTP != 503 || r.Status != "unavailable" || r.Database != "down" {
				t.Errorf("/readyz: %+v", r)
			}
			time.Sleep(time.Second) // Postgres is away that long

			how.start(postgres)
			up := time.Now()
			wait.Until(t, "animals served again", func() bool {
				return d.client.get(s, tn.keys[0].token, "/pets").status == 200 &&
					d.client.post(s, tn.keys[0].token, "again").status == 201
			})
			recovered := time.Since(up)
			wait.Until(t, "a server that is ready again", func() bool { return s.Ready().Status == "ready" })
			during := between(stop(), down, up)
			slowest := time.Duration(0)
			for _, a := range append(during, unknown...) {
				slowest = max(slowest, a.took())
				if a.status == 503 && a.integer("Retry-After") < 1 {
					t.Errorf("503 without Retry-After: %v", a.header)
				}
			}
			n := countByCode(during)
			t.Logf(
				"down for %v: %v; served again %v after it was back",
				up.Sub(down).Round(
					time.Millisecond,
				),
				n,
				recovered.Round(time.Millisecond),
			)
			wait.Bound(t, "the slowest response", slowest, 2*time.Second)
			if n["503 unavailable"] == 0 ||
				n["503 unavailable"]+n["503 outcome_unknown"]+n["200"]+n["201"] != len(during) {
				t.Errorf("responses while Postgres was down: %v, want 503 (and what was under way)", n)
			}
		})
	}
}

// anyRequest lists or creates, depending on the number of the request.
func anyRequest(d *deployment, s *server, tn *tenant, caller, request int) response {
	token := tn.keys[request%len(tn.keys)].token
	switch request % 3 {
	case 0:
		return d.client.get(s, token, "/pets?limit=5")
	case 1:
		return d.client.post(s, token, fmt.Sprintf("%d of caller %d", request, caller))
	}
	return d.client.get(s, token, "/pets?limit=1&status=sold")
}

// between returns the responses to requests sent in that time.
func between(responses []response, from, to time.Time) (some []response) {
	for _, a := range responses {
		if a.sent.After(from) && a.sent.Before(to) {
			some = append(some, a)
		}
	}
	return some
}
