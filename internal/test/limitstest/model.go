package limitstest

import (
	"math/rand/v2"
	"testing"
	"time"

	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
)

// model is the simplest possible limiter: one counter for each window, kept for ever.
type model struct {
	minutes, days, months map[[2]int64]int64
}

func newModel() *model {
	return &model{map[[2]int64]int64{}, map[[2]int64]int64{}, map[[2]int64]int64{}}
}

func (m *model) take(tenantID int64, q plans.Quota, now time.Time) limits.Decision {
	minute, day := [2]int64{tenantID, limits.MinuteAt(tenantID, now)}, [2]int64{tenantID, limits.DayAt(now)}
	month := [2]int64{tenantID, limits.MonthAt(now)}
	limit, limited := q.Month.Cap()
	admitted := m.minutes[minute] < q.PerMinute && m.days[day] < q.PerDay && (!limited || m.months[month] < limit)
	if admitted {
		m.minutes[minute]++
		m.days[day]++
		if q.Month.Kind == plans.SomeMonth {
			m.months[month]++
		}
	}
	return WithMonth(Want(admitted, tenantID, q, now, m.minutes[minute], m.days[day]), q, now, m.months[month])
}

func (m *model) refund(tenantID int64, d limits.Decision) {
	m.minutes[[2]int64{tenantID, d.Minute.Number}]--
	m.days[[2]int64{tenantID, d.Day.Number}]--
	if d.Month.Name != "" {
		m.months[[2]int64{tenantID, d.Month.Number}]--
	}
}

// likeTheModel lets a limiter and the model decide the same random requests, refunds, plan changes
// and steps of the clock. The results must be identical. After every refusal it also tries the
// promised wait: a request is refused one tick before its end, and admitted at its end.
func likeTheModel(t *testing.T, l limits.Limiter) {
	for _, seed := range []uint64{3, 7, 21} { // the last two have found faults
		likeTheModelBy(t, l, seed)
	}
}

func likeTheModelBy(t *testing.T, l limits.Limiter, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 4))
	m := newModel()
	now := Noon.AddDate(10*int(seed), 0, 0)
	var given []limits.Decision
	for step := range 3000 {
		tenantID := 1 + random.Int64N(3)
		q := plans.Quota{PerMinute: 1 + random.Int64N(6), PerDay: 20 + random.Int64N(20)}
		if random.IntN(3) > 0 {
			q.Month = Month(random, 40)
		}
		if random.IntN(300) == 0 {
			now = time.Unix(limits.MonthReset(limits.MonthAt(now)), -random.Int64N(2))
		}
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

// keepsItsPromise tries the end of the wait after a refusal, and returns the instant of its last
// request.
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
