package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestAutomaticBan: one server may refuse a key of a Free tenant 1,000 times in a minute window,
// whatever others refuse. Once more, and the key is banned for 15 minutes on both servers, until
// staff lift the ban.
func TestAutomaticBan(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, true)
	servers := d.serveAll(2, patientRedis)
	tn := d.freshTenant(plans.Free, nil, 1)
	token := tn.keys[0].token
	d.expect(servers[0], token, int(tn.Quota.PerMinute), "200")
	d.expect(servers[0], token, 1000, "429 rate_limit_exceeded")
	d.expect(servers[1], token, 500, "429 rate_limit_exceeded")
	d.expect(servers[0], token, 1, "429 rate_limit_exceeded")
	if long() { // On a busy machine the ban may come a moment later.
		d.expect(servers[0], token, 1, "429 key_banned")
	}
	checkBan(d, servers, tn)
}

// expect sends requests, 16 at a time, all of which should have that result.
func (d *deployment) expect(s *server, token string, requests int, want string) {
	d.t.Helper()
	n := countByCode(
		sendConcurrently(16, requests, func(int, int) response { return d.patient.get(s, token, "/pets") }),
	)
	assert.Equal(d.t, n[want], requests, n, "×", want)
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
		d.t.Logf(
			"server %d: banned %v after the last refusal was seen, Retry-After %s",
			i,
			time.Since(from).Round(time.Millisecond),
			a.header.Get("Retry-After"),
		)
		// Both are in whole seconds: until the end, and the end itself.
		after, reset := time.Duration(a.integer("Retry-After"))*time.Second, a.integer("X-RateLimit-Reset")
		end := time.Unix(reset, 0)
		assert.True(
			d.t,
			!a.sent.Add(after-time.Second).After(end) && !a.got.Add(after+time.Second).Before(end),
			"Retry-After", after, "and X-RateLimit-Reset", end, "disagree",
		)
		if n := d.number(`select count(*) from bans where key_id = $1 and ends_at = starts_at + interval '15 minutes'
			and ceil(extract(epoch from ends_at)) = $2`, tn.keys[0].id, reset); n != 1 {
			d.t.Errorf("%d bans of 15 minutes that end at %v, want 1", n, end)
		}
		assert.True(
			d.t,
			a.status == 429 && a.integer("X-RateLimit-Remaining") == 0,
			"a banned key's answer:",
			a,
			a.header,
		)
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

// group is workers that share a key, and wait for Retry-After when they are refused.
type group struct {
	name, manner string
	workers      int
	token        string
	counts       [3]atomic.Int64 // admitted, refused, others
}

// besides returns how long a worker waits besides Retry-After, which is wait, at the n-th 429 in a
// row.
func (g *group) besides(wait time.Duration, n int) time.Duration {
	switch g.manner {
	case "a tenth":
		return time.Duration(rand.Float64() * float64(wait) / 10)
	case "doubled":
		return time.Duration(rand.Float64()*float64(wait)/10) << min(n-1, 10)
	case "backoff":
		return time.Second << min(n-1, 6)
	}
	return 0
}

func (g *group) work(ctx context.Context, c *http.Client, servers []*server) {
	for refusals := 0; ctx.Err() == nil; {
		a := get(c, servers[rand.N(len(servers))].URL+"/pets?limit=1", g.token)
		wait := time.Duration(max(0, a.integer("Retry-After"))) * time.Second
		switch a.status {
		case http.StatusOK:
			g.counts[0].Add(1)
			refusals = 0
		case http.StatusTooManyRequests:
			g.counts[1].Add(1)
			refusals++
			wait += g.besides(wait, refusals)
		default:
			g.counts[2].Add(1)
			wait = max(wait, time.Second)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// TestWorkersThatWaitAreNotBanned: neither up to 1,000 workers that share a key, whatever they wait
// besides Retry-After, nor 10 times as many as the limit, all at once, nor any of them on three
// servers.
func TestWorkersThatWaitAreNotBanned(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d servers", count), func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, count > 1)
			servers := d.serveAll(count, patientRedis)
			groups, lasts := d.groups()
			transport := &http.Transport{MaxConnsPerHost: 200, MaxIdleConnsPerHost: 200}
			defer transport.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), lasts)
			defer cancel()
			var all sync.WaitGroup
			for _, g := range groups {
				for range g.workers {
					all.Go(func() { g.work(ctx, &http.Client{Transport: transport, Timeout: timeout}, servers) })
				}
			}
			all.Wait()
			for _, g := range groups {
				t.Logf(
					"%s, %d workers, %s: %d admitted, %d refused, %d others",
					g.name,
					g.workers,
					g.manner,
					g.counts[0].Load(),
					g.counts[1].Load(),
					g.counts[2].Load(),
				)
			}
			banned := d.number(`select count(*) from bans`)
			assert.True(t, banned <= 0, banned, "of", len(groups), "keys are banned")
		})
	}
}

// groups returns the groups of workers, and for how long they work: all for ten minutes, or in the
// short form one of each plan for some seconds, in which a window ends.
func (d *deployment) groups() (groups []*group, lasts time.Duration) {
	sizes := []int{4, 16, 64, 256, 1000}
	if !long() {
		sizes = sizes[3:4]
	}
	d.avoidMidnight()
	for _, of := range []struct {
		plan  string
		limit int
		short int // the group of the short form
	}{{plans.Free, 60, 4}, {plans.Pro, 300, 2}, {plans.Business, 1000, 3}} {
		var some []*group
		for _, manner := range []string{"exactly", "a tenth", "doubled", "backoff"} {
			for _, n := range sizes {
				some = append(some, &group{name: of.plan, manner: manner, workers: n})
			}
		}
		some = append(some, &group{name: of.plan, manner: "exactly", workers: 10 * of.limit})
		if !long() {
			some = some[of.short : of.short+1]
		}
		for _, g := range some {
			g.token = d.tenantEnding(time.Now().Add(4*time.Second), of.plan, nil, 1).keys[0].token
		}
		groups = append(groups, some...)
	}
	if long() {
		return groups, 10 * time.Minute
	}
	return groups, 10 * time.Second
}
