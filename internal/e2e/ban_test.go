package e2e_test

import (
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/wait"
)

// TestAutomaticBan: one server may refuse a key of a Free tenant 1,000 times in a minute window, whatever others refuse. Once more, and the
// key is banned for 15 minutes on both servers, until staff lift the ban.
func TestAutomaticBan(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, true)
	servers := []*server{d.serve("PETSTORE_REDIS_TIMEOUT=5s"), d.serve("PETSTORE_REDIS_TIMEOUT=5s")}
	tn := d.freshTenant(servers[0], plans.Free, nil, 1)
	token := tn.keys[0].token
	d.expect(servers[0], token, int(tn.Quota.PerMinute-tn.used), "200")
	d.expect(servers[0], token, 1000, "429 rate_limit_exceeded")
	d.expect(servers[1], token, 500, "429 rate_limit_exceeded")
	d.expect(servers[0], token, 1, "429 rate_limit_exceeded")
	d.expect(servers[0], token, 1, "429 key_banned")
	checkBan(d, servers, tn)
}

// expect sends requests, 16 at a time, all of which should have that result.
func (d *deployment) expect(s *server, token string, requests int, want string) {
	d.t.Helper()
	n := countByCode(sendConcurrently(16, requests, func(int, int) response { return d.patient.get(s, token, "/pets") }))
	if n[want] != requests {
		d.t.Errorf("%v, want %d × %s", n, requests, want)
	}
}

// checkBan checks that the key has just been banned for 15 minutes on all servers.
func checkBan(d *deployment, servers []*server, tn *tenant) {
	d.t.Helper()
	token := tn.keys[0].token
	for i, s := range servers {
		from := time.Now()
		var a response
		wait.Until(d.t, "the ban in force", func() bool {
			a = d.client.get(s, token, "/pets")
			return a.code == "key_banned"
		})
		d.t.Logf("server %d: banned %v after the last refusal was seen, Retry-After %s", i, time.Since(from).Round(time.Millisecond),
			a.header.Get("Retry-After"))
		wait, left := a.integer("Retry-After"), time.Until(time.Unix(a.integer("X-RateLimit-Reset"), 0))
		if wait < 15*60-10 || wait > 15*60+1 {
			d.t.Errorf("Retry-After %d, want 15 minutes", wait)
		}
		if off := left - time.Duration(wait)*time.Second; off < -2*time.Second || off > 2*time.Second {
			d.t.Errorf("Retry-After %d s and X-RateLimit-Reset in %v disagree", wait, left)
		}
		if a.status != 429 || a.integer("X-RateLimit-Remaining") != 0 {
			d.t.Errorf("a banned key's answer: %v %v", a, a.header)
		}
	}
	d.ctl("ban", "lift", tn.keys[0].id, "--reason", "test")
	for _, s := range servers {
		wait.Until(d.t, "the ban lifted", func() bool {
			return d.client.get(s, token, "/pets").code != "key_banned"
		})
	}
	if n := d.number(`select count(*) from bans where key_id = $1 and source = 'automatic'`, tn.keys[0].id); n != 1 {
		d.t.Errorf("%d automatic bans, want 1", n)
	}
}
