package usage_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

func date(month time.Month, day int) time.Time {
	return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC)
}

func TestNewMonth(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		now         time.Time
		first, last time.Time
	}{
		"the first instant": {date(11, 1), date(11, 1), date(11, 1)},
		"the last":          {date(12, 1).Add(-1), date(11, 1), date(11, 30)},
		"a leap day": {time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC),
			time.Date(2028, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)},
		"by UTC": {time.Date(2026, 12, 1, 5, 0, 0, 0, time.FixedZone("", 6*3600)), date(11, 1), date(11, 30)},
	} {
		m := usage.NewMonth(test.now)
		for i, d := range m.Days {
			want := test.first.AddDate(0, 0, i)
			assert.Equal(t, d.Date, want, name, "day", i)
		}
		assert.Equal(t, m.Days[len(m.Days)-1].Date, test.last, name, "it ends with")
	}
}

func TestMonthAdd(t *testing.T) {
	t.Parallel()
	m := usage.NewMonth(date(11, 3).Add(time.Hour))
	m.Add(date(11, 1), 1, 10)
	m.Add(date(11, 3), 2, 20)
	m.Add(date(11, 3), 4, 0)
	m.Add(date(10, 31), 100, 100)
	m.Add(date(10, 2), 100, 100)
	m.Add(date(11, 4), 100, 100)
	want := []usage.Day{{date(11, 1), 1, 10}, {date(11, 2), 0, 0}, {date(11, 3), 6, 20}}
	assert.DeepEqual(t, m.Days, want)
	if admitted, refused := m.Sum(); admitted != 7 || refused != 30 {
		t.Errorf("sum %d, %d, want 7, 30", admitted, refused)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := usage.NewReport(date(10, 1), date(11, 3))
	r.AddKey("key_b", "", date(10, 31), 1, 10)
	r.AddKey("key_a", "ci", date(10, 31), 2, 0)
	r.AddKey("key_b", "", date(10, 31), 4, 0)
	for _, month := range []time.Month{8, 9, 9} {
		r.Correct(date(month, 1), -1, 2)
	}
	b := usage.NewMonth(date(10, 31))
	b.Add(date(10, 31), 5, 10)
	assert.DeepEqual(t, r.Keys[1], usage.KeyUsage{KeyID: "key_b", Month: b})
	assert.DeepEqual(t, r.Days[30], usage.Day{Date: date(10, 31), Admitted: 7, Refused: 10})
	assert.DeepEqual(t, r.Corrections, []usage.Correction{{date(8, 1), -1, 2}, {date(9, 1), -2, 4}})
	assert.DeepEqual(
		t,
		usage.NewReport(date(11, 1), date(11, 3)).Month,
		usage.NewMonth(date(11, 3)),
		"of the current month",
	)
}

func TestPredict(t *testing.T) {
	t.Parallel()
	at := func(h, m, s int) time.Time { return date(11, 20).Add(time.Duration(h*3600+m*60+s) * time.Second) }
	for name, test := range map[string]struct {
		now                 time.Time
		admitted, remaining int64
		perHour             int64
		runsOut             time.Time
	}{
		// At half past, the rate window is one and a half hours long: 150 are 100 an hour.
		"before the day ends":     {at(9, 30, 0), 150, 250, 100, at(12, 0, 0)},
		"down to the second":      {at(9, 30, 0).Add(999 * time.Millisecond), 150, 1, 100, at(9, 30, 37)},
		"a second before it ends": {at(23, 30, 0), 5400, 1799, 3600, at(23, 59, 59)},
		"exactly when it ends":    {at(23, 30, 0), 5400, 1800, 3600, time.Time{}},
		"not today":               {at(9, 30, 0), 150, 10_000, 100, time.Time{}},
		"no requests":             {at(9, 30, 0), 0, 1, 0, time.Time{}},
		"more given back":         {at(9, 30, 0), -3, 1, 0, time.Time{}},
		"nothing remains":         {at(9, 30, 0).Add(1), 0, 0, 0, at(9, 30, 0)},
		"just after midnight":     {at(0, 0, 0), 600, 150, 600, at(0, 15, 0)},
		"at the hour":             {at(13, 0, 0), 600, 100, 600, at(13, 10, 0)},
		"before the hour":         {at(13, 0, 0).Add(-1), 1200, 100, 600, at(13, 9, 59)},
		"as much as there can be": {at(9, 30, 0), 1 << 62, 1 << 62, 3074457345618258603, at(11, 0, 0)},
		"far away":                {at(9, 30, 0), 1, 1 << 62, 1, time.Time{}},
	} {
		got := usage.Predict(test.admitted, test.remaining, test.now)
		want := usage.Forecast{PerHour: test.perHour, RunsOut: test.runsOut}
		if d := got.PerHour - want.PerHour; d > -1024 && d < 1024 && want.PerHour > 1<<60 {
			got.PerHour = want.PerHour // exact to a float64
		}
		assert.DeepEqual(t, got, want, name)
	}
}

// fakeMonths is a MonthStore that counts its queries. The rate window of a month is their number.
type fakeMonths struct {
	mu      sync.Mutex
	queries map[int64]int
	err     error
	// block, if not nil, delays results until it is closed.
	block chan struct{}
}

func (l *fakeMonths) UsageMonth(ctx context.Context, tenantID int64, now time.Time) (usage.Month, error) {
	l.mu.Lock()
	if l.queries == nil {
		l.queries = map[int64]int{}
	}
	l.queries[tenantID]++
	n, err, block := l.queries[tenantID], l.err, l.block
	l.mu.Unlock()
	if block != nil {
		<-block
	}
	m := usage.NewMonth(now)
	m.RateWindow = int64(n)
	if err == nil {
		err = ctx.Err()
	}
	return m, err
}

func (l *fakeMonths) UsageReport(context.Context, int64, time.Time, time.Time) (usage.Report, error) {
	return usage.Report{}, errors.New("not used")
}

// TestMonthsQueryTwiceASecond: at most, and again after a failure.
func TestMonthsQueryTwiceASecond(t *testing.T) {
	t.Parallel()
	l := &fakeMonths{}
	months := usage.NewMonths(l)
	for _, step := range []struct {
		tenant int64
		now    time.Time
		want   int64
		err    error
	}{
		{1, noon, 0, usage.ErrUnavailable},
		{1, noon, 2, nil},
		{2, noon, 1, nil},
		{1, noon.Add(usage.FlushInterval - 1), 2, nil},
		{1, noon.Add(usage.FlushInterval), 3, nil},
		{1, noon.Add(usage.FlushInterval - 1), 4, nil}, // the clock went back
		{1, noon.Add(time.Hour - 1), 5, nil},
		{1, noon.Add(time.Hour), 6, nil}, // a new rate window
	} {
		l.err = step.err
		m, err := months.Get(t.Context(), step.tenant, step.now)
		if !errors.Is(err, step.err) || m.RateWindow != step.want {
			t.Errorf(
				"tenant %d at %v: query %d, %v, want query %d",
				step.tenant,
				step.now,
				m.RateWindow,
				err,
				step.want,
			)
		}
	}
}

func TestMonthsShareAQuery(t *testing.T) {
	t.Parallel()
	l := &fakeMonths{block: make(chan struct{})}
	months := usage.NewMonths(l)
	gone, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := months.Get(gone, 1, noon)
		first <- err
	}()
	for queries := 0; queries == 0; {
		l.mu.Lock()
		queries = l.queries[1]
		l.mu.Unlock()
	}
	leave()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if m, err := months.Get(t.Context(), 1, noon); err != nil || m.RateWindow != 1 {
				t.Errorf("query %d, %v, want query 1", m.RateWindow, err)
			}
		})
	}
	close(l.block)
	wg.Wait()
	assert.Equal(t, <-first, nil, "the first, which was cancelled")
}

// TestMonthForecast: the rate is that of seven days, or of the time since the first request in them,
// but of a day at least. The limit ends it. What is overage is computed as on the bill.
func TestMonthForecast(t *testing.T) {
	t.Parallel()
	of := func(included int64, overage string) plans.Month {
		o, err := plans.ParseOverage(overage)
		assert.NoError(t, err)
		return plans.Month{Kind: plans.SomeMonth, Included: included, Overage: o}.InForce()
	}
	now := date(11, 21) // ten days before the end
	week := now.AddDate(0, 0, -7)
	for name, test := range map[string]struct {
		since           time.Time
		week, remaining int64
		month           plans.Month
		periods         []usage.PeriodUse
		want            usage.MonthForecast
	}{
		"below what is included": {week, 700, 10_000, of(10_000, "none"), nil,
			usage.MonthForecast{Admitted: 3000}},
		"above it": {week, 700, 10_000, of(2500, "unlimited"), []usage.PeriodUse{{of(2500, "unlimited"), 2000}},
			usage.MonthForecast{Admitted: 3000, Overage: 500}},
		"a new customer": {now.AddDate(0, 0, -2), 700, 4000, of(6000, "none"), nil,
			usage.MonthForecast{Admitted: 5500}},
		"one of the last hour": {now.Add(-time.Hour), 700, 10_000, of(5000, "100%"), nil,
			usage.MonthForecast{Admitted: 9000, Overage: 4000}},
		"the limit comes first": {week, 700, 500, of(2000, "500"), []usage.PeriodUse{{of(2000, "500"), 2000}},
			usage.MonthForecast{Admitted: 2500, Overage: 500, RunsOut: now.AddDate(0, 0, 5)}},
		"exactly when it ends": {week, 700, 1000, of(3000, "none"), nil, usage.MonthForecast{Admitted: 3000}},
		"nothing remains": {week, 700, 0, of(2000, "none"), nil,
			usage.MonthForecast{Admitted: 2000, RunsOut: now}},
		"nothing remains, and nothing comes": {time.Time{}, 0, 0, of(2000, "none"), nil,
			usage.MonthForecast{Admitted: 2000, RunsOut: now}},
		"nothing comes":             {time.Time{}, 0, 10, of(2000, "none"), nil, usage.MonthForecast{Admitted: 2000}},
		"more given back than came": {week, -7, 10, of(2000, "none"), nil, usage.MonthForecast{Admitted: 2000}},
		"after an upgrade": {week, 700, 5000, of(6000, "none"),
			[]usage.PeriodUse{{of(1000, "unlimited"), 1500}, {plans.Month{}, 100}, {of(6000, "none"), 400}},
			usage.MonthForecast{Admitted: 3000, Overage: 500}},
	} {
		m := usage.NewMonth(now)
		m.Add(date(11, 20), 2000, 5)
		m.Week, m.WeekStart, m.Periods = test.week, test.since, test.periods
		if m.Periods == nil {
			m.Periods = []usage.PeriodUse{{Month: test.month, Admitted: 2000}}
		}
		before := len(m.Periods)
		assert.DeepEqual(t, m.Forecast(test.month, test.remaining, now), test.want, name)
		assert.Equal(t, len(m.Periods), before, name, "periods")
	}
}
