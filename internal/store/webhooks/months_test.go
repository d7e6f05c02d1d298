package webhooks_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/store"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
	"petstore.example/internal/test/storetest"
	"petstore.example/internal/usage"
)

// included is what the months include.
const included = 20

// model admits the requests of all servers, exactly, as the limiter does. Meanwhile the limits
// change once.
type model struct {
	sync.Mutex
	ledger    ledger
	day       time.Time
	perDay    int64
	perMonth  int64 // with overage
	used      map[string]int64
	changes   int // after how many calls
	must, may map[string]bool
}

// ends are the ends of the windows.
func (m *model) ends() map[string]time.Time {
	return map[string]time.Time{
		"day":   m.day.AddDate(0, 0, 1),
		"month": time.Date(m.day.Year(), m.day.Month()+1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// change notes what may have been told, and sets other limits.
func (m *model) change(t *testing.T) {
	m.note(m.may, 0)
	m.perDay, m.perMonth = 5+rand.Int64N(20), included+5*rand.Int64N(3)
	overage := "none"
	if m.perMonth > included {
		overage = fmt.Sprint(m.perMonth - included)
	}
	m.ledger.quota(t, m.perDay, fmt.Sprint(included), overage)
}

// note adds the thresholds that are reached when at least that per cent of a limit are used.
func (m *model) note(set map[string]bool, least int64) {
	add := func(window string, limit int64, percents ...int64) {
		for _, p := range percents {
			if used := m.used[window]; used*100 >= limit*max(p, least) {
				set[fmt.Sprintf("%s/%d/%d until %s", window, limit, p, m.ends()[window].Format(time.DateOnly))] = true
			}
		}
	}
	add("day", m.perDay, 80, 100)
	add("month", m.perMonth, 100)
	if least == 0 || m.used["month"] >= m.perMonth {
		add("month", included, 80, 100)
	}
}

// take admits up to n requests. If fewer fit, it returns the refusals of the windows that are full.
func (m *model) take(t *testing.T, n int64) (fits int64, full []usage.Refusal) {
	m.Lock()
	defer m.Unlock()
	if m.changes--; m.changes == 0 {
		m.change(t)
	}
	fits = max(0, min(n, m.perDay-m.used["day"], m.perMonth-m.used["month"]))
	limits := map[string]int64{"day": m.perDay, "month": m.perMonth}
	for window, limit := range limits {
		m.used[window] += fits
		if fits < n && m.used[window] >= limit {
			full = append(full, usage.Refusal{
				TenantID: m.ledger.acme.ID, Window: window, Limit: limit, Reset: m.ends()[window].Unix(),
			})
		}
	}
	return fits, full
}

// serve records what one of the servers admits, until it is refused and has told of it. Now and then
// it is killed before it has recorded, loses a reply, or can't tell.
func (m *model) serve(t *testing.T, api *store.DB, name, key string) {
	for told := false; !told; {
		n, full := m.take(t, 1+rand.Int64N(4))
		if n > 0 && rand.IntN(6) > 0 {
			b := m.ledger.add(t, key, m.day.Add(time.Duration(rand.IntN(24))*time.Hour), n, 0)
			b.ServerID = name
			for range 1 + rand.IntN(2) {
				fixture.WriteUsage(t, api, b)
			}
		}
		if len(full) > 0 && rand.IntN(3) > 0 {
			assert.NoError(t, api.Usage.TellRefusals(t.Context(), full))
			told = true
		}
	}
}

// months has three servers use up two days, or the month, of n months, while the limits change, replies
// are lost, and servers are killed between admission and record. It returns what was told that was not
// reached, told twice, or before a lower threshold, and what was not told although it had to be.
func (l ledger) months(t *testing.T, n int) (wrong []string) {
	t.Helper()
	ids, servers := []string{l.key}, []*store.DB{l.API}
	for range 2 {
		k, _ := l.Issue(t, "acme")
		ids = append(ids, k.ID)
		servers = append(servers, storetest.Open(t, l.APIURL, store.Options{AsAPI: true, Timeout: fixture.LongTimeout}))
	}
	l.news(t)
	must, may := map[string]bool{}, map[string]bool{}
	used := map[string]int64{}
	for i := range 2 * n {
		used["day"], used["month"] = 0, used["month"]*int64(i%2)
		m := &model{
			ledger: l, day: first.AddDate(0, -i/2, i%2), changes: 1 + rand.IntN(8), must: must, may: may,
			perMonth: included, perDay: 1_000_000, used: used,
		}
		m.change(t)
		var all sync.WaitGroup
		for s := range servers {
			all.Go(func() { m.serve(t, servers[s], fmt.Sprint("s", s), ids[s]) })
		}
		all.Wait()
		m.note(may, 0)
		m.note(must, 100)
	}
	return l.judge(t, must, may)
}

// judge compares what was told with what had to be, and what may have been.
func (l ledger) judge(t *testing.T, must, may map[string]bool) (wrong []string) {
	t.Helper()
	var told []string
	l.Rows(t, &told, `
		select concat_ws('/', v.data ->> 'window', v.data ->> 'limit', v.data ->> 'percent')
		       || ' until ' || left(v.data ->> 'resetsAt', 10)
		from (
		  select d.id, (e.body::json ->> 'data')::json as data from events e join deliveries d on d.event_id = e.id
		) v
		order by v.id`)
	count := map[string]int{}
	for _, s := range told {
		count[s]++
		lower := strings.Replace(s, "/100 ", "/80 ", 1)
		if !may[s] || count[s] > 1 || may[lower] && count[lower] == 0 {
			wrong = append(wrong, s)
		}
	}
	for s := range must {
		if count[s] == 0 {
			wrong = append(wrong, "no "+s)
		}
	}
	t.Logf("%d thresholds were told, %d of %d had to be", len(told), len(must), len(may))
	return wrong
}

// TestThresholdsOfServers: each threshold of the limits at the end is told once, and none that was not
// reached. Without the report of refusals some would be missed.
func TestThresholdsOfServers(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	assert.DeepEqual(t, l.months(t, 5), []string(nil))
	planted := newTold(t)
	planted.Exec(t, `
		create or replace function tell_refusals(tenants bigint[], windows text[], limits bigint[], resets bigint[])
		returns void language plpgsql as $$ begin end $$`)
	missed := planted.months(t, 5)
	assert.True(t, len(missed) > 0 && strings.HasPrefix(missed[0], "no "), "missed without the report:", missed)
}

// TestFiftyMonths is the same for longer.
func TestFiftyMonths(t *testing.T) {
	t.Parallel()
	assert.DeepEqual(t, newTold(t).months(t, 50), []string(nil))
}
