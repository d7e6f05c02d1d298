package e2e_test

import (
	"strings"
	"testing"
	"time"

	petstore "petstore.example/client"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/wait"
)

// TestKeyLimitAndUsage: the servers enforce a key's own limit, while the tenant's other key keeps working. GET /v1/usage shows both, is
// not counted, and works when nothing remains. Staff can raise the limit.
func TestKeyLimitAndUsage(t *testing.T) {
	t.Parallel()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		d := newDeployment(t, false)
		s := d.serve()
		checkKeyLimit(d, []*server{s, s})
	})
	t.Run("two servers", func(t *testing.T) {
		t.Parallel()
		d := newDeployment(t, true)
		checkKeyLimit(d, []*server{d.serve(), d.serve()})
	})
}

func checkKeyLimit(d *deployment, servers []*server) {
	t := d.t
	t.Helper()
	tn := d.freshTenant(servers[0], plans.Free, nil, 1)
	script := issueWithCtl(d, tn.Name, "--per-minute", "5")
	var responses []response
	for i := range 9 {
		responses = append(responses, d.patient.get(servers[i%2], script.token, "/pets"))
	}
	n := countByCode(responses)
	t.Logf("nine requests of a key with 5 a minute: %v", n)
	if last := responses[8]; n["200"] != 5 || n["429 rate_limit_exceeded"] != 4 ||
		!strings.Contains(string(last.body), "This API key's own limit allows 5 requests per minute.") ||
		!strings.HasSuffix(last.header.Get("RateLimit-Policy"), `, "key";q=5;w=60`) {
		t.Errorf("%v, %v %v; want 5 admitted", n, last, last.header)
	}
	if a := d.patient.get(servers[1], tn.keys[0].token, "/pets"); a.status != 200 || a.windows["minute"].remaining != 60-7 {
		t.Errorf("the tenant's other key: %v %v, want 53 to remain", a, a.header.Get("RateLimit"))
	}

	checkUsageOf(d, servers[0], script, petstore.UsageWindow{Limit: 5, Used: 5, Remaining: 0})
	d.ctl("key", "edit", script.id, "--per-minute", "8", "--reason", "test")
	for _, s := range servers {
		wait.Until(t, "the wider limit", func() bool {
			return d.client.get(s, script.token, "/usage").windows["key"].remaining == 3
		})
	}
	if a := d.patient.get(servers[1], script.token, "/pets"); a.status != 200 || a.windows["key"].remaining != 2 {
		t.Errorf("after it was widened: %v %v", a, a.header.Get("RateLimit"))
	}
}

// checkUsageOf checks the windows, and within some seconds the month: 7 admitted, 4 refused.
func checkUsageOf(d *deployment, s *server, k key, own petstore.UsageWindow) {
	d.t.Helper()
	store := d.store(s, k.token)
	var u *petstore.Usage
	wait.Until(d.t, "usage is recorded", func() bool {
		var err error
		if u, err = store.GetUsage(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		return u.Month.Admitted == 7 && u.Month.Refused == 4
	})
	w := u.Windows
	if w.Key == nil || w.Minute.Used != 7 || w.Day.Used != 7 || w.Day.Remaining != 1000-7 {
		d.t.Fatalf("windows %+v, want 7 used", w)
	}
	if own.Reset = w.Minute.Reset; *w.Key != own {
		d.t.Errorf("the key's own is %+v, want %+v", *w.Key, own)
	}
	today := u.Month.Days[len(u.Month.Days)-1]
	if today != (petstore.UsageDay{Date: time.Now().UTC().Format(time.DateOnly), Admitted: 7, Refused: 4}) {
		d.t.Errorf("today is %+v", today)
	}
	if f := u.Forecast; f.PerHour < 3 || f.PerHour > 7 || f.DayRunsOutAt != nil {
		d.t.Errorf("forecast %+v: 7 in one to two hours are 3.5 to 7 an hour, and 1000 do not run out", f)
	}
}
