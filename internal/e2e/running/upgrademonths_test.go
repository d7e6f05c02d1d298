//go:build linux

package running_test

import (
	"fmt"
	"net/http"
	"strings"

	"petstore.example/internal/test/wait"
)

// noMonths: while a server of the last release lives, no plan and no tenant gets a month.
func (u *upgrade) noMonths(when string) {
	u.Helper()
	u.enforced(when, false)
	for _, args := range [][]string{
		{"plan", "create", "metered", "--per-minute", "600", "--per-month", "100000"},
		{"plan", "boost", fmt.Sprint("tenant-", u.tenants), "--per-month", "100000", "--until", "48h", "--yes"},
	} {
		login := u.database.SupportURL
		if args[1] == "create" {
			login = u.database.BillingURL
		}
		_, said, err := u.now.try(u, login, args...)
		if err == nil || !strings.Contains(said, "no month is enforced while a server of the last release is alive") {
			u.Errorf("%s: %v: %v: %s", when, args, err, said)
		}
	}
}

// months: the last release is tried once more, and replaced again. While its server lives a month
// admits more than its limit; when it is gone the limit holds exactly, from all that is recorded.
func (u *upgrade) months() {
	u.Helper()
	key := u.tenant(u.now, "enterprise", "--per-minute", "100", "--per-month", "100")
	name := fmt.Sprint("tenant-", u.tenants)
	boost := func(perMonth, until string) {
		u.Helper()
		u.now.ctl(u, u.database.SupportURL, "plan", "boost", name, "--per-month", perMonth, "--until", until, "--yes")
	}
	send := func(n int) (admitted int, codes map[string]int) {
		u.Helper()
		codes = map[string]int{}
		for i := range n {
			res := u.ask(i%2, key, http.MethodGet, "/pets", "")
			if res.StatusCode == http.StatusOK {
				admitted++
				continue
			}
			var said struct{ Code string }
			u.decode(res, &said)
			codes[said.Code]++
		}
		u.admitted[name] += admitted
		return admitted, codes
	}
	want := func(what string, sent, admitted int) {
		u.Helper()
		n, codes := send(sent)
		u.Logf("%s: %d of %d admitted, %v", what, n, sent, codes)
		if n != admitted || codes["monthly_quota_exceeded"] != sent-admitted {
			u.Errorf("%s: %d of %d admitted, want %d: %v", what, n, sent, admitted, codes)
		}
	}
	u.enforced("this program only", true)
	boost("40", "60d") // of a plan a day would be limited by it, too
	want("this program only", 50, 40)

	u.program = u.old.petstore
	u.restart(0)
	u.noMonths("the last release again")
	want("the last release again", 15, 15)
	u.program = u.now.petstore
	u.restart(0)
	u.enforced("the last release is gone again", true)
	want("the last release is gone again", 10, 0)
	boost("60", "50d")
	want("the last release is gone again, and the month is larger", 15, 5)
}

// enforced waits until the servers of this program say that they enforce months, or do not.
func (u *upgrade) enforced(when string, want bool) {
	u.Helper()
	for i, server := range u.servers {
		wait.Until(u, fmt.Sprintf("%s: server %d says whether it enforces months", when, i+1), func() bool {
			_, body := server.Ask("/readyz")
			return server.Chatty || strings.Contains(string(body), `"months":"off"`) != want
		})
	}
}
