package billing_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/limits"
	"petstore.example/internal/test/assert"
)

// quota is what binds a tenant, with the name of its plan.
type quota struct {
	plan              string
	perMinute, perDay int64
}

// change is what is known to come.
type change struct {
	at time.Time
	to quota
}

// counts is what the load counted by the status of responses, or what a line says.
type counts struct{ admitted, refused int64 }

func (c counts) plus(d counts) counts { return counts{c.admitted + d.admitted, c.refused + d.refused} }

// year is the deployment as seen by acme, the only tenant whose number is 1, with what a client
// knows of it.
type year struct {
	*fixture
	key     string
	inForce quota
	next    *change
	// used counts admitted requests: by the tenant's minute, and by day as a negative number.
	used map[int64]int64
	// month is what the servers recorded in the month of the clock, unwritten what server 3 did not
	// while it is cut off from the database.
	month, unwritten counts
	cutOff           bool
	exports          map[string]string
}

const acme = 1

// crosses passes an instant from which on another quota is in force, because it was scheduled, or
// because of commands at that instant. next is what is then known to come.
func (y *year) crosses(at string, to quota, next *change, commands ...string) {
	y.t.Helper()
	begins := instant(y.t, at)
	y.set(begins.Add(-time.Microsecond))
	y.each()
	y.checkUsage()
	y.set(begins)
	if begins.Day() == 1 && begins.Hour() == 0 {
		y.month, y.unwritten = counts{}, counts{}
	}
	for _, c := range commands {
		y.ctl(c)
	}
	y.inForce, y.next = to, next
	y.each()
	y.checkUsage()
}

// each sends a request to each server.
func (y *year) each() {
	y.t.Helper()
	for i := range y.servers {
		y.checkRequest(i)
	}
	y.write()
}

// write has the servers write what they counted.
func (y *year) write() {
	y.t.Helper()
	for i, s := range y.servers {
		if i == 2 && y.cutOff {
			continue
		}
		assert.NoError(y.t, s.meter.Flush(y.t.Context()))
	}
}

// run runs a command after which that change comes.
func (y *year) run(at, command string, next *change) {
	y.t.Helper()
	y.set(instant(y.t, at))
	y.checkUsage()
	y.ctl(command)
	y.next = next
	y.checkUsage()
}

// load sends so many requests at an instant, to one server after the other.
func (y *year) load(at string, n int) {
	y.t.Helper()
	y.set(instant(y.t, at))
	for i := range n {
		y.checkRequest(i % len(y.servers))
	}
	y.write()
}

// someoneNew is assigned a plan, and has that quota.
func (y *year) someoneNew(at string, q quota) {
	y.t.Helper()
	y.set(instant(y.t, at))
	y.ctl("tenant create zoo --plan " + q.plan)
	rec := y.servers[1].get(list, y.issue("zoo"))
	want := fmt.Sprintf(`"minute";q=%d;w=60, "day";q=%d;w=86400`, q.perMinute, q.perDay)
	assert.Equal(y.t, headerOf(rec, "RateLimit-Policy"), want, "zoo has")
	y.write()
}

// suspended suspends the tenant. Its requests are refused then, and count nowhere.
func (y *year) suspended(from, to string) {
	y.t.Helper()
	y.set(instant(y.t, from).Add(-time.Microsecond))
	y.each()
	y.set(instant(y.t, from))
	y.ctl("tenant suspend acme --reason unpaid --yes")
	for _, at := range []time.Time{instant(y.t, from), instant(y.t, to).Add(-time.Microsecond)} {
		y.set(at)
		for _, s := range y.servers {
			rec := s.get(list, y.key)
			assert.Equal(y.t, rec.Code, 401, at, "a suspended tenant", rec.Body)
		}
	}
	y.set(instant(y.t, to))
	y.ctl("tenant resume acme --reason paid")
	// A suspension ends by the clock of Postgres.
	y.exec(`update tenant_suspensions set valid_to = $1`, instant(y.t, to))
	y.each()
}

// closes closes a month some minutes after it has ended. At first that is refused, because no
// server has said since that it has delivered all of it.
func (y *year) closes(month, options string) {
	y.t.Helper()
	y.set(y.clock().Truncate(time.Hour).Add(5 * time.Minute))
	_, refusal, code := y.try("usage close --month " + month + " --wait 0")
	for i := range y.servers {
		if name := fmt.Sprint(
			"server-",
			i+1,
		); code != cmdutil.ExitRefused ||
			!strings.Contains(refusal, name+" has delivered up to ") {
			y.t.Errorf("%s before %s has delivered it: exit %d, %s", month, name, code, refusal)
		}
	}
	y.each()
	_, said, _ := y.try("usage close --month " + month + " --wait 0" + options)
	if !strings.HasPrefix(said, "closed "+month+": ") {
		y.t.Fatalf("close %s: %s", month, said)
	}
	y.exports[month] = y.ctl("usage export --month " + month)
}

// reconnects has server 3 write what it counted while it was cut off.
func (y *year) reconnects() {
	y.t.Helper()
	y.cutOff = false
	y.write()
	y.month, y.unwritten = y.month.plus(y.unwritten), counts{}
}

// checkRequest sends a request, and expects a response by the quota in force with all its headers.
func (y *year) checkRequest(server int) {
	y.t.Helper()
	recorded := &y.month
	if server == 2 && y.cutOff {
		recorded = &y.unwritten
	}
	now := y.clock()
	minute, day := limits.MinuteAt(acme, now), limits.DayAt(now)
	rec := y.servers[server].get(list, y.key)
	want := 200
	if y.used[minute] >= y.inForce.perMinute || y.used[-day] >= y.inForce.perDay {
		want = 429
		recorded.refused++
	} else {
		y.used[minute]++
		y.used[-day]++
		recorded.admitted++
	}
	if rec.Code != want {
		y.t.Fatalf("%v: %d %s, want %d", now, rec.Code, rec.Body, want)
	}
	got := map[string]string{}
	for name := range y.headers(now) {
		got[name] = headerOf(rec, name)
	}
	if diff := cmp.Diff(y.headers(now), got); diff != "" {
		y.t.Fatalf("%v, headers (-want +got):\n%s", now, diff)
	}
}

// window is one of GET /v1/usage.
type window struct{ Limit, Used, Remaining, Reset int64 }

func (y *year) windows(now time.Time) (minute, day window) {
	m, d := limits.MinuteAt(acme, now), limits.DayAt(now)
	of := func(limit, used, reset int64) window { return window{limit, used, max(0, limit-used), reset} }
	return of(
			y.inForce.perMinute,
			y.used[m],
			limits.MinuteReset(acme, m),
		), of(
			y.inForce.perDay,
			y.used[-d],
			limits.DayReset(d),
		)
}

// headers are those of a response at that instant.
func (y *year) headers(now time.Time) map[string]string {
	minute, day := y.windows(now)
	binding := minute
	if day.Remaining <= minute.Remaining {
		binding = day
	}
	return map[string]string{
		"X-RateLimit-Limit":     fmt.Sprint(binding.Limit),
		"X-RateLimit-Remaining": fmt.Sprint(binding.Remaining),
		"X-RateLimit-Reset":     fmt.Sprint(binding.Reset),
		"RateLimit-Policy":      fmt.Sprintf(`"minute";q=%d;w=60, "day";q=%d;w=86400`, minute.Limit, day.Limit),
		"RateLimit": fmt.Sprintf(`"minute";r=%d;t=%d, "day";r=%d;t=%d`,
			minute.Remaining, minute.Reset-now.Unix(), day.Remaining, day.Reset-now.Unix()),
	}
}

// usageAnswer is what GET /v1/usage says, its days and forecast left out.
type usageAnswer struct {
	Tenant, Plan string
	Quota        struct{ PerMinute, PerDay int64 }
	Windows      struct{ Minute, Day window }
	Month        struct{ Admitted, Refused int64 }
	NextChange   *struct {
		At    time.Time
		Plan  string
		Quota struct{ PerMinute, PerDay int64 }
	}
}

// checkUsage expects that GET /v1/usage says on all servers: the quota in force, what is used of it
// and in the month, and what comes.
func (y *year) checkUsage() {
	y.t.Helper()
	var want usageAnswer
	want.Tenant, want.Plan = "acme", y.inForce.plan
	want.Quota.PerMinute, want.Quota.PerDay = y.inForce.perMinute, y.inForce.perDay
	want.Windows.Minute, want.Windows.Day = y.windows(y.clock())
	want.Month.Admitted, want.Month.Refused = y.month.admitted, y.month.refused
	if n := y.next; n != nil {
		want.NextChange = &struct {
			At    time.Time
			Plan  string
			Quota struct{ PerMinute, PerDay int64 }
		}{At: n.at, Plan: n.to.plan}
		want.NextChange.Quota.PerMinute, want.NextChange.Quota.PerDay = n.to.perMinute, n.to.perDay
	}
	for i, s := range y.servers {
		rec := s.get("/v1/usage", y.key)
		var got usageAnswer
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 {
			y.t.Fatalf("%v: %d %s", y.clock(), rec.Code, rec.Body)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			y.t.Errorf("%v, usage by server %d (-want +got):\n%s", y.clock(), i+1, diff)
		}
	}
}

// lineTexts writes each line on one line.
func lineTexts(lines []line) []string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		var b strings.Builder
		const short = "01-02T15:04"
		fmt.Fprintf(
			&b,
			"%s %s %d/%d v%d %s %s to %s: %d and %d",
			l.Month,
			l.Plan,
			l.PerMinute,
			l.PerDay,
			l.Version,
			l.Kind,
			l.From.Format(short),
			l.To.Format(short),
			l.Admitted,
			l.Refused,
		)
		if l.Suspended > 0 {
			fmt.Fprintf(&b, ", suspended %d s", l.Suspended)
		}
		if l.Corrects != "" {
			b.WriteString(", corrects " + l.Corrects)
		}
		if l.Tenant != "acme" {
			b.WriteString(", of " + l.Tenant)
		}
		texts[i] = b.String()
	}
	return texts
}
