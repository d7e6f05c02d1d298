package e2e_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// monthIncludes is what the month includes of all limits.
const monthIncludes = 20

// thresholdLimits are a day's requests, and a month's with its overage.
type thresholdLimits struct{ perDay, perMonth int64 }

// usedWindow is a day or a month of a tenant, by its end.
type usedWindow struct {
	tenant int64
	name   string
	ends   int64
}

// threshold is one of a limit of a window.
type threshold struct {
	usedWindow
	limit, percent int64
}

func (h threshold) String() string {
	return fmt.Sprintf("tenant %d, %d %% of %d of the %s until %s", h.tenant, h.percent, h.limit, h.name,
		time.Unix(h.ends, 0).UTC().Format(time.DateOnly))
}

func (h threshold) reachedBy(used int64) bool { return used*100 >= h.limit*h.percent }

// thresholds are those of the window with these limits.
func (w usedWindow) thresholds(l thresholdLimits) (all []threshold) {
	if w.name == "day" {
		return []threshold{{w, l.perDay, 80}, {w, l.perDay, 100}}
	}
	all = []threshold{{w, monthIncludes, 80}, {w, monthIncludes, 100}}
	if l.perMonth > monthIncludes {
		all = append(all, threshold{w, l.perMonth, 100})
	}
	return all
}

// endOf returns when the window ends that is at noon.
func endOf(name string, noon time.Time) int64 {
	if name == "day" {
		return noon.Add(12 * time.Hour).Unix()
	}
	return time.Date(noon.Year(), noon.Month()+1, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// thresholdJudge compares what was told with what clients saw, and with what is recorded.
type thresholdJudge struct {
	*deployment
	noon time.Time // of the present day
	mu   sync.Mutex
	// limits are those in force, by tenant, and last those that were last in force in a window. Of
	// all that were in force in it, may has the thresholds.
	limits map[int64]thresholdLimits
	last   map[usedWindow]thresholdLimits
	may    map[threshold]bool
	// refused is the highest limit with which a window refused a request, but for partial refusals.
	// untold are the refusals of each server that it may not have told yet, dead the killed servers:
	// theirs may be lost.
	refused map[usedWindow]int64
	untold  map[*server][]threshold
	dead    map[*server]bool
	// used is what the records say, and takenBack what they had said and do not say any more.
	used, takenBack map[usedWindow]int64
	told            map[string]threshold // by the IDs of events
	codes           map[string]int       // of answers
}

func newThresholdJudge(d *deployment, noon time.Time) *thresholdJudge {
	return &thresholdJudge{
		deployment: d, noon: noon,
		limits: map[int64]thresholdLimits{}, last: map[usedWindow]thresholdLimits{}, may: map[threshold]bool{},
		refused: map[usedWindow]int64{}, untold: map[*server][]threshold{}, dead: map[*server]bool{},
		used: map[usedWindow]int64{}, takenBack: map[usedWindow]int64{}, told: map[string]threshold{},
		codes: map[string]int{},
	}
}

// inForce notes other limits of a tenant.
func (j *thresholdJudge) inForce(tn *tenant, l thresholdLimits) {
	j.limits[tn.ID] = l
	for _, name := range []string{"day", "month"} {
		w := usedWindow{tn.ID, name, endOf(name, j.noon)}
		j.last[w] = l
		for _, h := range w.thresholds(l) {
			j.may[h] = true
		}
	}
}

// begin notes that the next day begins.
func (j *thresholdJudge) begin(noon time.Time, tenants []*tenant) {
	j.noon = noon
	for _, tn := range tenants {
		j.inForce(tn, j.limits[tn.ID])
	}
}

var (
	policyItem = regexp.MustCompile(`"(\w+)";q=(\d+)`)
	isPartial  = regexp.MustCompile(`Rate limiting is temporarily degraded|a server that failed this month`)
)

func contains(a response, text string) bool { return bytes.Contains(a.body, []byte(text)) }

// note notes the answer of a server.
func (j *thresholdJudge) note(tn *tenant, s *server, a response) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for code := range countByCode([]response{a}) {
		if isPartial.Match(a.body) {
			code += ", partial"
		}
		j.codes[code]++
	}
	binding := map[string]string{"daily_quota_exceeded": "day", "monthly_quota_exceeded": "month"}[a.code]
	if binding == "" || isPartial.Match(a.body) {
		return
	}
	for _, policy := range policyItem.FindAllStringSubmatch(a.header.Get("RateLimit-Policy"), -1) {
		name := policy[1]
		if a.windows[name].remaining > 0 || name != "day" && name != "month" {
			continue
		}
		later := a.windows[binding].reset.Sub(a.windows[name].reset).Round(time.Second)
		w := usedWindow{tn.ID, name, a.integer("X-RateLimit-Reset") - int64(later/time.Second)}
		limit, _ := strconv.ParseInt(policy[2], 10, 64)
		j.refused[w] = max(j.refused[w], limit)
		if !j.dead[s] {
			j.untold[s] = append(j.untold[s], threshold{w, limit, 100})
		}
	}
}

// killed notes that a server is about to be killed.
func (j *thresholdJudge) killed(s *server) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dead[s] = true
	delete(j.untold, s)
}

// settle waits until everything is recorded and told, and checks that nothing else is.
func (j *thresholdJudge) settle(tenants []*tenant, servers []*server) {
	j.t.Helper()
	for i, tn := range tenants { // A change of limits is noticed at the next record.
		s := servers[i%len(servers)]
		j.note(tn, s, j.patient.get(s, tn.keys[0].token, "/pets?limit=1"))
	}
	for _, s := range servers {
		wait.Until(j.t, "a server has recorded everything", func() bool {
			return s.Metric("petstore_usage_unrecorded_requests") == 0
		})
	}
	wait.Until(j.t, "everything is told", func() bool {
		j.read()
		return len(j.missing()) == 0
	}, func() string { return strings.Join(j.missing(), "; ") })
	clear(j.untold)
	assert.DeepEqual(j.t, j.invented(), []string(nil), "told although it was not reached, or twice")
}

// missing are the thresholds that were not told although they had to be: of the limits that were
// last in force those that the records reach, and that of a window that refused.
func (j *thresholdJudge) missing() (missing []string) {
	told := map[threshold]bool{}
	for _, h := range j.told {
		told[h] = true
	}
	add := func(h threshold, why string) {
		if !told[h] {
			missing = append(missing, fmt.Sprint(h, why))
		}
	}
	for w, l := range j.last {
		for _, h := range w.thresholds(l) {
			if h.reachedBy(j.used[w]) {
				add(h, fmt.Sprint(": ", j.used[w], " are recorded"))
			}
		}
	}
	for _, refused := range j.untold {
		for _, h := range refused {
			if slices.Contains(h.thresholds(j.last[h.usedWindow]), h) {
				add(h, ": it refused")
			}
		}
	}
	return missing
}

// invented are the thresholds that were told although no record and no refusal reached them under
// limits that were in force, and those that were told twice.
func (j *thresholdJudge) invented() (invented []string) {
	times := map[threshold]int{}
	for _, h := range j.told {
		times[h]++
	}
	for h, n := range times {
		if n > 1 || !j.may[h] || !h.reachedBy(max(j.most(h.usedWindow), j.refused[h.usedWindow])) {
			invented = append(invented, fmt.Sprintf("%v: %d times, %d recorded, refused by %d",
				h, n, j.used[h.usedWindow], j.refused[h.usedWindow]))
		}
	}
	return invented
}

// byRefusal returns how many thresholds were told that the records do not reach.
func (j *thresholdJudge) byRefusal() (n int) {
	for _, h := range j.told {
		if !h.reachedBy(j.most(h.usedWindow)) {
			n++
		}
	}
	return n
}

// most is the most that may have been recorded of a window.
func (j *thresholdJudge) most(w usedWindow) int64 { return j.used[w] + j.takenBack[w] }

func (j *thresholdJudge) report() {
	told := map[string]int{}
	for _, h := range j.told {
		told[fmt.Sprintf("%s %d %%", h.name, h.percent)]++
	}
	j.t.Logf("%d windows, %d of which refused; told: %v, of %d thresholds of their limits, %d only by a refusal; "+
		"%d windows in which records were taken back; answers: %v", len(j.last), len(j.refused), told, len(j.may),
		j.byRefusal(), len(j.takenBack), j.codes)
}

// watch has Postgres note what records take back. That was recorded before, and its events stay.
func (j *thresholdJudge) watch() {
	j.t.Helper()
	j.exec(`create table taken_back (tenant_id bigint, hour timestamptz, admitted bigint)`)
	j.exec(`create function note_taken_back() returns trigger language plpgsql security definer as $$
		begin
		  insert into taken_back values (new.tenant_id, new.hour, old.admitted - new.admitted);
		  return null;
		end $$`)
	j.exec(`create trigger note_taken_back after update on usage_hourly for each row
		when (new.admitted < old.admitted) execute function note_taken_back()`)
}

// read reads what is recorded and what was told, of the latest months, at one instant.
func (j *thresholdJudge) read() {
	j.t.Helper()
	tx, err := j.sql.BeginTx(j.t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	assert.NoError(j.t, err)
	defer func() { _ = tx.Rollback() }()
	each := func(query string, scan func(rows *sql.Rows) error) {
		rows, err := tx.QueryContext(j.t.Context(), query)
		assert.NoError(j.t, err, query)
		defer rows.Close()
		for rows.Next() {
			assert.NoError(j.t, scan(rows))
		}
		assert.NoError(j.t, rows.Err())
	}
	for table, sums := range map[string]map[usedWindow]int64{"usage_hourly": j.used, "taken_back": j.takenBack} {
		each(`
			select u.tenant_id, w.name, extract(epoch from w.ends at time zone 'UTC')::bigint, sum(u.admitted)
			from `+table+` u cross join lateral (values
			  ('day', date_trunc('day', u.hour at time zone 'UTC') + interval '1 day'),
			  ('month', date_trunc('month', u.hour at time zone 'UTC') + interval '1 month')) w (name, ends)
			where u.hour > now() - interval '40 days' group by 1, 2, 3`, func(rows *sql.Rows) error {
			var w usedWindow
			var n int64
			err := rows.Scan(&w.tenant, &w.name, &w.ends, &n)
			sums[w] = n
			return err
		})
	}
	each(`
		select id::text, tenant_id, data ->> 'window', (data ->> 'limit')::bigint, (data ->> 'percent')::bigint,
		       extract(epoch from (data ->> 'resetsAt')::timestamptz)::bigint
		from (select id, tenant_id, (body::json ->> 'data')::json as data from events
		      where type = 'quota.threshold_reached') e`, func(rows *sql.Rows) error {
		var id string
		var h threshold
		err := rows.Scan(&id, &h.tenant, &h.name, &h.limit, &h.percent, &h.ends)
		j.told[id] = h
		return err
	})
}
