package limitstest

import (
	"math/rand/v2"
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// model is the plainest limiter there can be: a counter for every window that ever was.
type model struct {
	minutes, days map[[2]int64]int64
}

func newModel() *model {
	return &model{minutes: map[[2]int64]int64{}, days: map[[2]int64]int64{}}
}

func (m *model) take(tenantID int64, q plans.Quota, now time.Time) limits.Decision {
	minute, day := [2]int64{tenantID, limits.MinuteAt(tenantID, now)}, [2]int64{tenantID, limits.DayAt(now)}
	admitted := m.minutes[minute] < q.PerMinute && m.days[day] < q.PerDay
	if admitted {
		m.minutes[minute]++
		m.days[day]++
	}
	return Want(admitted, tenantID, q, now, m.minutes[minute], m.days[day])
}

func (m *model) refund(tenantID int64, d limits.Decision) {
	m.minutes[[2]int64{tenantID, d.Minute.Number}]--
	m.days[[2]int64{tenantID, d.Day.Number}]--
}

// likeTheModel lets a limiter and the model decide over the same random requests, refunds, plan
// changes and steps of the clock, and wants the same of both, to the last member. For every refusal
// it also tries the wait that was promised: one tick before its end a request is refused, at its
// end it passes.
func likeTheModel(t *testing.T, l limits.Limiter) {
	for _, seed := range []uint64{3, 7, 21} { // the last two have found faults
		likeTheModelBy(t, l, seed)
	}
}

func likeTheModelBy(t *testing.T, l limits.Limiter, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 4))
	m := newModel()
	now := Noon.AddDate(0, 0, 100*int(seed))
	var given []limits.Decision
	for step := range 3000 {
		tenantID := 1 + random.Int64N(3)
		q := plans.Quota{PerMinute: 1 + random.Int64N(6), PerDay: 20 + random.Int64N(20)}
		if random.IntN(8) == 0 {
			now = now.Add(time.Duration(random.Int64N(int64(90 * time.Second))))
		}
		if random.IntN(500) == 0 {
			now = now.Add(time.Duration(random.Int64N(int64(20 * time.Hour))))
		}
		d := l.Take(t.Context(), Claim(tenantID, q), now)
		Check(t, "take", d, m.take(tenantID, q, now))
		if t.Failed() {
			t.Fatalf("seed %d, step %d, %v, tenant %d, %+v", seed, step, now, tenantID, q)
		}
		if !d.Admitted && random.IntN(4) == 0 {
			now = keepsItsPromise(t, l, m, tenantID, q, now, d)
		}
		if d.Admitted && tenantID == 1 {
			given = append(given, d)
		}
		if n := len(given); n > 0 && random.IntN(10) == 0 {
			l.Refund(t.Context(), limits.Claim{TenantID: 1}, given[n-1])
			m.refund(1, given[n-1])
			given = given[:n-1]
		}
	}
}

// keepsItsPromise tries the end of the wait after a refusal, and returns the instant it is then.
func keepsItsPromise(
	t *testing.T,
	l limits.Limiter,
	m *model,
	tenantID int64,
	q plans.Quota,
	now time.Time,
	refused limits.Decision,
) time.Time {
	t.Helper()
	reset := refused.Binding().Reset
	at := time.Unix(reset, 0)
	if l.Take(t.Context(), Claim(tenantID, q), at.Add(-1)).Admitted {
		t.Fatalf("refused at %v until %v, but one tick before it passes", now, at)
	}
	wait := limits.RetryAfter(reset, now)
	if early := now.Add(time.Duration(wait) * time.Second); early.Before(at) || !early.Add(-time.Second).Before(at) {
		t.Fatalf("at %v, Retry-After %d is not the first whole second from %v on", now, wait, at)
	}
	d := l.Take(t.Context(), Claim(tenantID, q), at)
	if !d.Admitted {
		t.Fatalf("refused at %v until %v, and refused then", now, at)
	}
	Check(t, "at the end of the wait", d, m.take(tenantID, q, at))
	return at
}
