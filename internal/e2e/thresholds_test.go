package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/redistest"
	"petstore.example/internal/test/wait"
)

// thresholdTrial is three servers on which tenants with a webhook use up days and months, two days
// each, by Postgres's clock.
type thresholdTrial struct {
	*thresholdJudge
	set     func(ahead time.Duration)
	redis   *redistest.Server
	servers [3]atomic.Pointer[server]
	tenants []*tenant
}

func newThresholdTrial(t *testing.T) *thresholdTrial {
	t.Helper()
	postgres, set := serverWithClock(t)
	redis := redistest.New(t)
	now := time.Now().UTC()
	tr := &thresholdTrial{set: set, redis: redis}
	tr.thresholdJudge = newThresholdJudge(
		newDeploymentAs(t, postgres.URL, postgres.APIURL, postgres.SupportURL, redis.URL),
		time.Date(now.Year(), now.Month()+2, 1, 12, 0, 0, 0, time.UTC),
	)
	tr.watch()
	set(time.Until(tr.noon))
	for i := range tr.servers {
		tr.servers[i].Store(tr.serve(patientRedis))
	}
	awaitRedis(t, "up", tr.all()...)
	for range 5 {
		tn := tr.tenant(plans.Enterprise, &plans.Quota{PerMinute: 100, PerDay: 1000}, 3)
		tr.exec(`insert into endpoints (tenant_id, environment, url, events, verified_at)
			values ($1, 'live', 'https://hooks.example.com', '{quota.threshold_reached}', now())`, tn.ID)
		tr.tenants = append(tr.tenants, tn)
	}
	tr.change()
	tr.follow()
	return tr
}

func (tr *thresholdTrial) all() (all []*server) {
	for i := range tr.servers {
		all = append(all, tr.servers[i].Load())
	}
	return all
}

// change gives each tenant other limits.
func (tr *thresholdTrial) change() {
	tr.t.Helper()
	for _, tn := range tr.tenants {
		l := thresholdLimits{perDay: 5 + rand.Int64N(20), perMonth: monthIncludes + 5*rand.Int64N(3)}
		tr.inForce(tn, l)
		tr.exec(`insert into tenant_plans
			(tenant_id, plan, kind, per_minute, per_day, month, per_month, overage, overage_value)
			select $1, 'enterprise', 'boost', 100, $2, 'some', $3,
			       case when $4 > 0 then 'number' else 'none' end, nullif($4, 0)`,
			tn.ID, l.perDay, monthIncludes, l.perMonth-monthIncludes)
	}
}

// kill kills a server and starts another one.
func (tr *thresholdTrial) kill() {
	tr.t.Helper()
	s := &tr.servers[rand.IntN(len(tr.servers))]
	tr.killed(s.Load())
	s.Load().Kill()
	s.Store(tr.serve(patientRedis))
}

// loseRedis kills Redis, has requests counted without it, and starts it.
func (tr *thresholdTrial) loseRedis() {
	tr.t.Helper()
	tr.redis.Stop()
	awaitRedis(tr.t, "down", tr.all()...)
	tr.during(5, tr.redis.Start)
	awaitRedis(tr.t, "up", tr.all()...)
}

// nextDay is the next day of the month, or the first day of the next one.
func (tr *thresholdTrial) nextDay() {
	tr.t.Helper()
	next := tr.noon.AddDate(0, 0, 1)
	if next.Day() == 3 {
		next = next.AddDate(0, 1, -2)
	}
	tr.begin(next, tr.tenants)
	tr.set(time.Until(next))
	tr.follow()
}

// follow waits until all servers are in the present day.
func (tr *thresholdTrial) follow() {
	tr.t.Helper()
	want := fmt.Sprintf(`"reset":%d}`, endOf("day", tr.noon))
	for _, s := range tr.all() {
		for _, tn := range tr.tenants {
			wait.Until(tr.t, "a server follows Postgres's clock", func() bool {
				return contains(tr.patient.get(s, tn.keys[0].token, "/usage"), want)
			})
		}
	}
}

// send has each tenant send one to most requests, with all keys and to all servers.
func (tr *thresholdTrial) send(most int, answers *atomic.Int64) {
	var from []*tenant
	for _, tn := range tr.tenants {
		for range 1 + rand.IntN(most) {
			from = append(from, tn)
		}
	}
	rand.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	sendConcurrently(6, len(from), func(_, i int) response {
		a := tr.ask(tr.client, from[i])
		answers.Add(1)
		time.Sleep(rand.N(150 * time.Millisecond)) // a caller's own work
		return a
	})
}

// ask sends one request.
func (tr *thresholdTrial) ask(by *client, tn *tenant) response {
	s := tr.servers[rand.IntN(len(tr.servers))].Load()
	a := by.get(s, tn.keys[rand.IntN(len(tn.keys))].token, "/pets?limit=1")
	tr.note(tn, s, a)
	return a
}

// useUp sends requests until some were refused.
func (tr *thresholdTrial) useUp(tn *tenant) {
	for refused := 0; refused < 3; {
		if tr.ask(tr.patient, tn).status == http.StatusTooManyRequests {
			refused++
		}
	}
}

// during does something while tenants send up to most requests each.
func (tr *thresholdTrial) during(most int, do func()) {
	tr.t.Helper()
	var answers atomic.Int64
	var sending sync.WaitGroup
	sending.Go(func() { tr.send(most, &answers) })
	wait.Until(tr.t, "some answers", func() bool { return answers.Load() >= int64(len(tr.tenants)) })
	do()
	sending.Wait()
}

// day has one day used, with faults in any order. Of some tenants the day or the month is then used
// up, on all servers.
func (tr *thresholdTrial) day(faults ...func()) {
	tr.t.Helper()
	rand.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for _, fault := range faults {
		tr.during(5, fault)
		tr.settle(tr.tenants, tr.all())
	}
	var sending sync.WaitGroup
	for _, tn := range tr.tenants {
		if rand.IntN(3) == 0 {
			continue
		}
		for range 3 {
			sending.Go(func() { tr.useUp(tn) })
		}
	}
	sending.Wait()
	tr.settle(tr.tenants, tr.all())
}

// TestThresholdsWhateverEnds: five tenants use up days and months on three servers while limits
// change, Redis is lost and comes back, servers are killed between admission and record, and days
// and months end. Each threshold that the records reach has its event, and so has each window that
// refused; none has two, and nothing else has one. make soak has 50 days, in 25 months.
//
// It is parallel to nothing: see serverWithClock.
func TestThresholdsWhateverEnds(t *testing.T) {
	days := 2
	if long() {
		days = 50
	}
	tr := newThresholdTrial(t)
	// By chance each server had recorded all when it was killed: then more days follow.
	for i := 0; i < days || tr.byRefusal() == 0; i++ {
		faults := []func(){tr.kill, tr.change}
		if i%2 == 1 {
			faults = append(faults, tr.loseRedis)
		}
		tr.day(faults...)
		tr.during(3, tr.nextDay)
		tr.settle(tr.tenants, tr.all())
	}
	tr.report()
}
