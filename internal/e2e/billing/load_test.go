package billing_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

// load is a deployment with three tenants whose plans change at random, and a client that notes
// each response.
type load struct {
	*fixture
	random  *rand.Rand
	tenants []string
	keys    map[string]string
	seen    []response
	// numbers is the last number that a quota was given: no two changes give the same.
	numbers int
	// instants are when something changes, as far as commands said.
	instants []time.Time
	// notified is when a server will be notified of the changes before; zero for one that was.
	notified [3]time.Time
	// held is the server that writes nothing until the month is closed, -1 for none.
	held int
	// made counts the commands that changed something.
	made map[string]int
}

// response is what the client knows of a request that a limit decided.
type response struct {
	tenant   string
	at       time.Time
	q        [2]int64 // per minute and per day
	admitted bool
}

// months are those of a run. The last one has begun.
var months = []string{"2025-01", "2025-02", "2025-03", "2025-04"}

// newLoad returns the deployment in the last days of January.
func newLoad(t *testing.T, seed uint64, record func(usage.Store) usage.Store) *load {
	t.Helper()
	l := &load{
		fixture: newFixture(t, instant(t, "2025-01-27 10:00"), record), random: rand.New(rand.NewPCG(seed, 0)),
		tenants: []string{"acme", "globex", "zoo"}, keys: map[string]string{}, held: -1, made: map[string]int{},
	}
	for i, plan := range []string{"pro", "business", "free"} {
		l.ctl("tenant create " + l.tenants[i] + " --plan " + plan)
		l.keys[l.tenants[i]] = l.issue(l.tenants[i])
	}
	l.notify = l.notifyLater
	l.instants = []time.Time{instant(t, "2025-02-01 00:00"), instant(t, "2025-03-01 00:00")}
	return l
}

// run changes and requests until March, and then closes all months.
func (l *load) run() {
	l.t.Helper()
	for next := 1; l.clock().Before(instant(l.t, "2025-03-04 00:00")); {
		l.pass(l.nextStop())
		if end := instant(l.t, months[next]+"-01 00:00"); l.clock().After(end.Add(time.Minute)) {
			l.close(months[next-1])
			next = min(next+1, 2)
			if end.Month() == time.March {
				break
			}
		}
		if l.random.IntN(2) == 0 {
			l.change()
		}
		l.burst(l.random.IntN(12))
		for i := range l.servers {
			if l.random.IntN(4) == 0 {
				l.write(i)
			}
		}
	}
	l.pass(instant(l.t, "2025-04-01 00:00"))
	l.close(months[2])
}

// nextStop is often just before or after an instant of a change.
func (l *load) nextStop() time.Time {
	now := l.clock()
	switch l.random.IntN(5) {
	case 0, 1:
		at := l.instants[l.random.IntN(len(l.instants))].Add(time.Duration(l.random.IntN(5)-2) * time.Microsecond)
		if at.After(now) && at.Sub(now) < 72*time.Hour {
			return at
		}
	case 2:
		return now.Add(time.Duration(l.random.Int64N(int64(60 * time.Hour)))).Truncate(time.Microsecond)
	}
	return now.Add(time.Duration(l.random.Int64N(int64(2 * time.Second)))).Truncate(time.Microsecond)
}

// pass lets time pass. Servers hear of changes when they are due.
func (l *load) pass(to time.Time) {
	for i, at := range l.notified {
		if !at.IsZero() && !at.After(to) {
			l.servers[i].changed()
			l.notified[i] = time.Time{}
		}
	}
	l.set(to)
}

// notifyLater has each server hear of a change within noticeTime.
func (l *load) notifyLater() {
	for i := range l.servers {
		if at := l.clock().Add(time.Duration(l.random.Int64N(int64(noticeTime)))); l.notified[i].IsZero() {
			l.notified[i] = at
		}
	}
}

// burst sends requests at the same instant. Some find the catalogue down, and are given back.
func (l *load) burst(n int) {
	l.t.Helper()
	tenant := l.tenants[l.random.IntN(len(l.tenants))]
	for range n {
		l.pets.down = l.random.IntN(8) == 0
		l.request(l.random.IntN(len(l.servers)), tenant)
	}
	l.pets.down = false
}

var quotas = regexp.MustCompile(`"minute";q=(\d+);w=60, "day";q=(\d+);`)

func (l *load) request(server int, tenant string) {
	l.t.Helper()
	rec := l.servers[server].get(list, l.keys[tenant])
	for try := 0; rec.Code == 503 && !l.pets.down && try < 50; try++ { // The machine is busy. It counted nothing.
		rec = l.servers[server].get(list, l.keys[tenant])
	}
	r := response{tenant: tenant, at: l.clock(), admitted: rec.Code == 200}
	if rec.Code == 503 && l.pets.down {
		return
	}
	m := quotas.FindStringSubmatch(headerOf(rec, "RateLimit-Policy"))
	if rec.Code != 200 && rec.Code != 429 || m == nil {
		l.t.Fatalf("%v: %d %s %v", l.clock(), rec.Code, rec.Body, rec.Header())
	}
	for i, text := range m[1:] {
		r.q[i], _ = strconv.ParseInt(text, 10, 64)
	}
	l.seen = append(l.seen, r)
}

func (l *load) write(server int) {
	l.t.Helper()
	if server == l.held {
		return
	}
	// The store fails now and then, and the meter tries again.
	for try := 0; l.servers[server].meter.Flush(l.t.Context()) != nil; try++ {
		if try == 20 {
			l.t.Fatal("a server can't write")
		}
	}
}

// close closes a month that has ended. The server that was held back is left out, and delivers
// later. Others deliver before.
func (l *load) close(month string) {
	l.t.Helper()
	l.pass(l.clock().Add(time.Minute))
	if month == months[2] {
		l.held = -1
	}
	for i := range l.servers {
		l.request(i, "acme")
		l.write(i)
	}
	without := ""
	if l.held >= 0 {
		without = fmt.Sprint(" --without server-", l.held+1)
	}
	l.ctl("usage close --month " + month + " --wait 0" + without)
	l.held = l.random.IntN(4) - 1
	for i := range l.servers {
		l.write(i)
	}
}

// unique returns numbers of a quota that no other change has.
func (l *load) unique() string {
	l.numbers++
	return fmt.Sprintf("--per-minute %d --per-day %d", 3+l.numbers, 2000+l.numbers)
}

// when returns an instant in the next days, or at this moment; and one after it.
func (l *load) when() (from, until time.Time) {
	from = l.clock().Add([]time.Duration{0, 5 * time.Second, time.Hour, 40 * time.Hour}[l.random.IntN(4)])
	from = from.Add(time.Duration(l.random.Int64N(int64(10 * time.Second)))).Truncate(time.Microsecond)
	until = from.Add(time.Duration(1 + l.random.Int64N(int64(48*time.Hour)))).Truncate(time.Microsecond)
	if l.random.IntN(3) == 0 {
		until = from.Add(time.Duration(1+l.random.IntN(1000)) * time.Millisecond)
	}
	return from, until
}

// change changes the plan of a tenant, or a plan, at random. What can't be is refused.
func (l *load) change() {
	l.t.Helper()
	tenant, plan := l.tenants[l.random.IntN(len(l.tenants))], []string{"pro", "business", "free"}[l.random.IntN(3)]
	from, until := l.when()
	verb, command := "", ""
	switch l.random.IntN(9) {
	case 0, 1:
		verb, command = "assign", tenant+" "+plan
	case 2:
		verb, command = "assign", tenant+" enterprise "+l.unique()
	case 3, 4:
		verb, command = "boost", tenant+" "+l.unique()
	case 5, 6:
		verb, command = "edit", plan+" "+l.unique()
		if l.random.IntN(2) == 0 {
			command += " --keep-existing"
		}
	case 7:
		l.unscheduleOrVoid(tenant)
		return
	case 8:
		l.mayChange("move", plan+" --all")
		return
	}
	if l.random.IntN(2) == 0 {
		command += " --from " + from.Format(time.RFC3339Nano)
		l.instants = append(l.instants, from)
	}
	if verb == "boost" || verb == "assign" && l.random.IntN(2) == 0 {
		command += " --until " + until.Format(time.RFC3339Nano)
		l.instants = append(l.instants, until)
		if l.random.IntN(3) == 0 && verb == "assign" {
			command += " --then free"
		}
	}
	l.mayChange(verb, command)
}

// mayChange runs a command on plans. It may be refused, but not fail.
func (l *load) mayChange(verb, args string) {
	l.t.Helper()
	switch _, said, code := l.try("plan " + verb + " " + args + " --yes"); code {
	case cmdutil.ExitOK:
		l.made[verb]++
	case cmdutil.ExitRefused, cmdutil.ExitUsage:
		l.made["refused"]++
		if code == cmdutil.ExitUsage && !strings.Contains(said, "not after the beginning") {
			l.t.Errorf("%s %s: %s", verb, args, said)
		}
	default:
		l.t.Fatalf("plan %s %s: exit %d: %s", verb, args, code, said)
	}
}

// unscheduleOrVoid removes a change that is to come, or marks what has begun as void.
func (l *load) unscheduleOrVoid(tenant string) {
	l.t.Helper()
	var coming []struct{ ID *int64 }
	assert.NoError(l.t, json.Unmarshal([]byte(l.ctl("plan schedule --tenant "+tenant+" -o json")), &coming))
	for _, c := range coming {
		if c.ID != nil && l.random.IntN(2) == 0 {
			l.mayChange("unschedule", fmt.Sprint(*c.ID))
			return
		}
	}
	var periods []struct{ Assignment int64 }
	assert.NoError(l.t, json.Unmarshal([]byte(l.ctl("plan history "+tenant+" -o json")), &periods))
	l.mayChange("void", fmt.Sprint(periods[l.random.IntN(len(periods))].Assignment, " --reason mistake"))
}
