package e2e_test

import (
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/wait"
)

// TestAutomaticBan: 60 requests of a Free tenant are admitted and 60 are denied by the limit. Then the key is banned for 15 minutes
// on both servers, until staff lift the ban.
func TestAutomaticBan(t *testing.T) {
	t.Parallel()
	for name, together := range map[string]bool{"counted by one server": false, "counted by two servers together": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, together)
			servers := []*server{d.serve(), d.serve()}
			tn := d.freshTenant(servers[0], plans.Free, nil, 1)
			if together {
				exhaust(d, servers, tn, 60)
			} else { // The 60th denial by one server bans the key.
				exhaust(d, servers[:1], tn, 60)
				if a := d.client.get(servers[0], tn.keys[0].token, "/pets"); a.code != "key_banned" {
					t.Errorf("after 60 refusals: %v", a)
				}
			}
			checkBan(d, servers, tn)
		})
	}
}

// exhaust uses up the tenant's minute and then sends that many requests that are denied, to the servers in turn.
func exhaust(d *deployment, servers []*server, tn *tenant, refusals int) {
	d.t.Helper()
	var responses []response
	for i := range int(tn.Quota.PerMinute-tn.used) + refusals {
		responses = append(responses, d.patient.get(servers[i%len(servers)], tn.keys[0].token, "/pets"))
	}
	n := countByCode(responses)
	d.t.Logf("one after the other on %d servers: %v", len(servers), n)
	if got := admitted(responses) + tn.used; got != tn.Quota.PerMinute {
		d.t.Errorf("admitted %d, want %d", got, tn.Quota.PerMinute)
	}
	if n["429 rate_limit_exceeded"] != refusals {
		d.t.Errorf("%v: want %d refused by the limit before any ban", n, refusals)
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
