//go:build linux

package running_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/test/storetest"
	"petstore.example/internal/test/wait"
)

// upgrade is a deployment that goes from the last release to this program, under load.
type upgrade struct {
	*testing.T
	*pair
	database *storetest.Database
	old, now release
	tenants  int // how many were made
	// admitted is how many requests of each tenant had a response that counts.
	admitted map[string]int
}

// TestUpgradeFromTheLastRelease follows docs/running.md: migrate while servers of the last release
// run, then replace one after the other. Meanwhile servers and staff of both releases see each
// other's changes, webhooks tell of them, limits are exact, and no request is lost. The servers of
// the last release also start on the new schema, so the way back needs no migration.
func TestUpgradeFromTheLastRelease(t *testing.T) {
	t.Parallel()
	database := emptyDatabase(t)
	u := &upgrade{T: t, database: database, old: lastRelease(t), now: current(t), admitted: map[string]int{}}
	before := u.old.ctl(t, database.URL, "migrate", "up")
	// On a busy machine a call to Redis may take longer than by default. Then it is sent again, and
	// counts twice.
	u.pair = newPair(
		t,
		u.old.petstore,
		database.APIURL,
		newRedis(t),
		"PETSTORE_DRAIN_DELAY=100ms",
		"PETSTORE_REDIS_TIMEOUT=5s",
	)
	p := nginx.start(t, u.pair)
	l := startLoad(
		p.client(t, "127.0.0.1"),
		u.tenant(u.old, "enterprise", "--per-minute", "10000000", "--per-day", "1000000000"),
		100,
		lists,
		lists,
		createsOnce,
	)

	newer := 0 // 1 if this release brings a migration
	if u.now.ctl(t, database.URL, "migrate", "up") != before {
		newer = 1
	}
	u.changes("servers of the last release on the new schema", u.old, u.now)
	u.told()
	u.quiet(0)
	u.restart(0)
	if n := u.servers[0].Logged("the database is newer than this program"); n != newer {
		t.Errorf("the last release says %d times that the database is newer, want %d", n, newer)
	}
	u.program = u.now.petstore
	u.quiet(1)
	u.restart(1)
	u.changes("both releases", u.old, u.now)
	u.noMonths("both releases")
	u.quiet(0)
	u.restart(0)
	u.animals("this program only", 0, u.tenant(u.now, "business"))
	u.months()
	u.billed()
	l.stop(t)
	u.quiet(0)
	u.quiet(1)
}

// quiet: Postgres has refused nothing that a server did in the background either, such as removing
// what is old, with which it begins. On a busy machine a request may get 503, and is sent again,
// and what is recorded may take too long, and is recorded later.
func (u *upgrade) quiet(server int) {
	u.Helper()
	for line := range strings.Lines(u.servers[server].Stderr()) {
		if strings.Contains(line, "(57014)") || strings.Contains(line, "i/o timeout") || // canceled, or not in time
			strings.Contains(line, "record usage") &&
				strings.Contains(line, "(40P01)") { // a deadlock with a migration: it is recorded after it
			continue
		}
		failed := strings.Contains(line, `"level":"error"`) && !strings.Contains(line, `"code":"unavailable"`)
		if failed || strings.Contains(line, "pq: ") {
			u.Errorf("server %d: %s", server+1, line)
		}
	}
}

// tenant makes a tenant on a plan, and returns a key of it.
func (u *upgrade) tenant(r release, plan string, args ...string) (key string) {
	u.Helper()
	u.tenants++
	name := fmt.Sprint("tenant-", u.tenants)
	r.ctl(u, u.database.SupportURL, append([]string{"tenant", "create", name, "--plan", plan}, args...)...)
	return r.ctl(u, u.database.SupportURL, "key", "issue", name, "--environment", "live")
}

// changes makes changes on one server, or by one petstorectl, and reads them on the other, both
// ways.
func (u *upgrade) changes(when string, a, b release) {
	u.Helper()
	begun := time.Now()
	for from := range u.servers {
		u.animals(when, from, u.tenant(a, "business"))
		u.staff(when, a, b)
		a, b = b, a
	}
	u.limits(when, a)
	u.Logf("%s: checked in %v", when, time.Since(begun).Round(time.Millisecond))
}

// animals: what one server writes, the other reads at once.
func (u *upgrade) animals(when string, from int, key string) {
	u.Helper()
	name := fmt.Sprint("tenant-", u.tenants)
	ask := func(server int, method, path, body string, headers ...string) response {
		u.Helper()
		res := u.ask(server, key, method, path, body, headers...)
		if res.StatusCode >= 300 {
			u.Errorf("%s: server %d: %s %s: %s %s", when, server+1, method, path, res.Status, res.body)
		}
		u.admitted[name]++
		return res
	}
	to := 1 - from
	var pet, order, again struct{ ID int64 }
	ask(to, http.MethodGet, "/pets", "") // so that an empty list is cached
	const rex = `{"name":"Rex","categoryId":7}`
	u.decode(ask(from, http.MethodPost, "/pets", rex, "Idempotency-Key", "rex"), &pet)
	u.decode(ask(to, http.MethodPost, "/pets", rex, "Idempotency-Key", "rex"), &again)
	want := fmt.Sprintf("[{\"id\":%d,\"name\":\"Rex\",\"categoryId\":7,\"status\":\"available\"}]\n", pet.ID)
	if list := ask(to, http.MethodGet, "/pets", "").body; list != want || again.ID != pet.ID {
		u.Errorf("%s: animal %d, repeated %d, listed by server %d: %s", when, pet.ID, again.ID, to+1, list)
	}
	u.decode(ask(to, http.MethodPost, "/store/orders", fmt.Sprintf(`{"petId":%d}`, pet.ID)), &order)
	path := fmt.Sprint("/store/orders/", order.ID)
	ask(from, http.MethodPatch, path, `{"status":"approved"}`)
	ask(to, http.MethodPatch, path, `{"status":"delivered"}`)
	if list := ask(
		from,
		http.MethodGet,
		"/store/orders?status=delivered",
		"",
	).body; !strings.Contains(
		list,
		fmt.Sprintf(`"id":%d,`, order.ID),
	) {
		u.Errorf("%s: delivered orders on server %d: %s", when, from+1, list)
	}
	if list := ask(
		from,
		http.MethodGet,
		"/pets?status=sold",
		"",
	).body; !strings.Contains(
		list,
		fmt.Sprintf(`"id":%d,`, pet.ID),
	) {
		u.Errorf("%s: sold animals on server %d: %s", when, from+1, list)
	}
}

// staff: what one petstorectl changes takes effect on both servers, and the other petstorectl can
// change it again.
func (u *upgrade) staff(when string, a, b release) {
	u.Helper()
	key, url := u.tenant(a, "free"), u.database.SupportURL
	name := fmt.Sprint("tenant-", u.tenants)
	both := func(what string, holds func(response) bool) {
		u.Helper()
		for i := range u.servers {
			wait.Until(u, fmt.Sprintf("%s: %s on server %d", when, what, i+1), func() bool {
				res := u.ask(i, key, http.MethodGet, "/usage", "") // which counts in no limit
				return holds(res)
			})
		}
	}
	both("a new key", func(r response) bool { return r.StatusCode == http.StatusOK })
	u.change(b, "plan", "assign", name, "pro")
	both("another plan", func(r response) bool { return strings.Contains(r.body, `"plan":"pro"`) })
	var issued struct{ ID, Key string }
	if err := json.Unmarshal(
		[]byte(b.ctl(u, url, "key", "issue", name, "--environment", "live", "-o", "json")),
		&issued,
	); err != nil {
		u.Fatal(err)
	}
	key = issued.Key
	both("a second key", func(r response) bool { return r.StatusCode == http.StatusOK })
	u.change(a, "ban", "place", issued.ID, "--for", "1h", "--reason", "test")
	both("a ban", func(r response) bool { return r.StatusCode == http.StatusTooManyRequests })
	u.change(b, "ban", "lift", issued.ID)
	both("a lifted ban", func(r response) bool { return r.StatusCode == http.StatusOK })
	if a == u.now || b == u.now {
		u.narrowed(when, issued.ID, key)
	}
	u.change(a, "key", "revoke", issued.ID)
	both("a revoked key", func(r response) bool { return r.StatusCode == http.StatusUnauthorized })
}

// narrowed: on servers of both releases a key that may only read does not write, nor one that may
// manage keys.
func (u *upgrade) narrowed(when, id, key string) {
	u.Helper()
	posted := func(scope string, holds func(status int) bool) {
		u.Helper()
		u.change(u.now, "key", "edit", id, "--scope", scope)
		for i := range u.servers {
			wait.Until(u, fmt.Sprintf("%s: scope %s on server %d", when, scope, i+1), func() bool {
				return holds(u.ask(i, key, http.MethodPost, "/pets", "{}").StatusCode)
			})
		}
	}
	posted("read", func(status int) bool { return status == http.StatusForbidden })
	posted("manage", func(status int) bool { return status == http.StatusBadRequest })
	for i := range u.servers {
		u.ownKeys(when, i, key)
	}
	posted("write", func(status int) bool { return status == http.StatusBadRequest })
}

// ownKeys: a customer's manage key makes, changes, rotates and revokes another one on a server, and
// staff of both releases rotate what it made.
func (u *upgrade) ownKeys(when string, server int, key string) {
	u.Helper()
	ask := func(method, path, body string) (made struct{ ID string }) {
		u.Helper()
		res := u.ask(server, key, method, path, body)
		if res.StatusCode >= 300 {
			u.Errorf("%s: server %d: %s %s: %s %s", when, server+1, method, path, res.Status, res.body)
		}
		u.decode(res, &made)
		return made
	}
	first := ask(http.MethodPost, "/keys", `{"name":"import"}`)
	ask(http.MethodPatch, "/keys/"+first.ID, `{"name":"nightly"}`)
	second := ask(http.MethodPost, "/keys/"+first.ID+"/rotate", "{}")
	for i, r := range []release{u.old, u.now} {
		u.change(r, "key", "rotate", []string{second.ID, ask(http.MethodPost, "/keys", `{"name":"x"}`).ID}[i])
	}
	ask(http.MethodPost, "/keys/"+second.ID+"/revoke", "{}")
}

// change has a member of staff make a change. Of the last release's commands only "key revoke" asks
// whether to, of this one's all.
func (u *upgrade) change(r release, args ...string) {
	u.Helper()
	if r == u.now || args[1] == "revoke" {
		args = append(args, "--yes")
	}
	r.ctl(u, u.database.SupportURL, args...)
}

var minute = regexp.MustCompile(`"minute";r=(\d+);t=(\d+)`)

// limits: both servers together admit exactly the 60 requests of a minute.
func (u *upgrade) limits(when string, r release) {
	u.Helper()
	for {
		key := u.tenant(r, "free")
		name := fmt.Sprint("tenant-", u.tenants)
		begun := time.Now()
		first := u.ask(0, key, http.MethodGet, "/pets", "")
		u.admitted[name]++
		m := minute.FindStringSubmatch(first.Header.Get("Ratelimit"))
		if m == nil {
			u.Fatalf("%s: %s %v", when, first.Status, first.Header)
		}
		left, _ := strconv.Atoi(m[2])
		for i := range 80 {
			if u.ask(i%2, key, http.MethodGet, "/pets", "").StatusCode == http.StatusOK {
				u.admitted[name]++
			}
		}
		if time.Since(begun) > time.Duration(left-1)*time.Second {
			continue // into the next minute
		}
		if n := u.admitted[name]; n != 60 {
			u.Errorf("%s: %d admitted in a minute, want 60", when, n)
		}
		return
	}
}

// billed: the usage of each tenant is what was admitted, in the exports of both releases.
func (u *upgrade) billed() {
	u.Helper()
	// The upgrade may last over the end of a month.
	now := time.Now().UTC()
	months := slices.Compact([]string{now.Add(-20 * time.Minute).Format("2006-01"), now.Format("2006-01")})
	for _, r := range []release{u.old, u.now} {
		wait.Until(u, "recorded usage that is what was admitted", func() bool {
			recorded := map[string]int{}
			for _, month := range months {
				var lines []struct {
					Tenant   string
					Admitted int
				}
				if err := json.Unmarshal(
					[]byte(r.ctl(u, u.database.BillingURL, "usage", "export", "--month", month, "-o", "json")),
					&lines,
				); err != nil {
					u.Fatal(err)
				}
				for _, l := range lines {
					recorded[l.Tenant] += l.Admitted
				}
			}
			for name, n := range u.admitted {
				if recorded[name] != n {
					return false
				}
			}
			return true
		})
	}
}

func (u *upgrade) decode(r response, into any) {
	u.Helper()
	if err := json.Unmarshal([]byte(r.body), into); err != nil {
		u.Errorf("%s: %v", r.body, err)
	}
}

// ask sends a request to one server. If the server asks to wait, it waits.
func (u *upgrade) ask(server int, key, method, path, body string, headers ...string) response {
	u.Helper()
	for {
		req, err := http.NewRequestWithContext(
			u.Context(),
			method,
			"http://"+u.servers[server].Addr+"/v1"+path,
			strings.NewReader(body),
		)
		if err != nil {
			u.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: wait.Limit}
		if res := exchange(u, client, req); res.StatusCode != http.StatusServiceUnavailable {
			return res
		}
		time.Sleep(time.Second) // before the request is sent again
	}
}
