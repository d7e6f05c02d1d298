package usage_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/usage"
)

func TestReplay(t *testing.T) {
	t.Parallel()
	midnight := noon.Add(-12 * time.Hour)
	at := func(hour int, requests, refused int64) usage.Hour {
		return usage.Hour{At: midnight.Add(time.Duration(hour) * time.Hour), Requests: requests, Refused: refused}
	}
	day := func(n int, requests, refused, byDay, byMinute int64) usage.ReplayedDay {
		return usage.ReplayedDay{
			Date:     midnight.AddDate(0, 0, n),
			Requests: requests,
			Refused:  refused,
			ByDay:    byDay,
			ByMinute: byMinute,
		}
	}
	for name, test := range map[string]struct {
		hours             []usage.Hour
		perMinute, perDay int64
		want              []usage.ReplayedDay
	}{
		"none": {nil, 60, 1000, nil},
		"all pass": {[]usage.Hour{at(1, 500, 7), at(2, 500, 0)}, 60, 1000,
			[]usage.ReplayedDay{day(0, 1000, 7, 0, 0)}},
		"the day is over": {[]usage.Hour{at(1, 900, 0), at(2, 200, 50), at(3, 5, 5)}, 60, 1000,
			[]usage.ReplayedDay{day(0, 1105, 55, 105, 0)}},
		"each day has its own": {[]usage.Hour{at(23, 1200, 0), at(24, 900, 0)}, 60, 1000,
			[]usage.ReplayedDay{day(0, 1200, 0, 200, 0), day(1, 900, 0, 0, 0)}},
		"an hour's 61 minutes": {[]usage.Hour{at(1, 611, 0)}, 10, 100_000, []usage.ReplayedDay{day(0, 611, 0, 0, 1)}},
		"two hours have 121": {[]usage.Hour{at(1, 620, 0), at(2, 620, 0)}, 10, 100_000,
			[]usage.ReplayedDay{day(0, 1240, 0, 0, 30)}},
		"two apart have 122": {[]usage.Hour{at(1, 620, 0), at(3, 620, 0)}, 10, 100_000,
			[]usage.ReplayedDay{day(0, 1240, 0, 0, 20)}},
		"a refusal costs no day": {[]usage.Hour{at(1, 5000, 0), at(3, 390, 0)}, 10, 1000,
			[]usage.ReplayedDay{day(0, 5390, 0, 0, 4390)}},
		// What a key's own limit refuses never comes to the windows of the tenant.
		"a key's own limit": {
			[]usage.Hour{{At: midnight.Add(time.Hour), Requests: 700, Refused: 650, Own: 650}}, 10, 1000,
			[]usage.ReplayedDay{{Date: midnight, Requests: 700, Refused: 650, ByKeys: 650}},
		},
	} {
		assert.DeepEqual(
			t,
			usage.Replay(test.hours, plans.Quota{PerMinute: test.perMinute, PerDay: test.perDay}),
			test.want,
			name,
		)
	}
	refused, remain := usage.Refusals(
		[]usage.Hour{{At: midnight, Requests: 700, Refused: 650, Own: 50}},
		plans.Quota{PerMinute: 10, PerDay: 600},
	)
	assert.Equal(t, refused, 650)
	assert.Equal(t, remain, 100, "50 by keys, 10 by the day and 40 by the minute")
}

// TestReplayIsALowerBound: of requests at any instants, limits over windows of any phase refuse no
// fewer.
func TestReplayIsALowerBound(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		perMinute := 1 + random.Int64N(5)
		perDay := perMinute + random.Int64N(2000)
		phase := random.Int64N(60)
		month := randomMonth(random, perDay)
		limit, limited := month.Cap()
		requests := make([]usage.Hour, 50)
		minutes, days, months := map[int64]int64{}, map[int64]int64{}, map[time.Month]int64{}
		var refused, overage int64
		for h := range requests {
			begin := january31.Unix() + int64(h)*3600 // The month ends within.
			requests[h].At = time.Unix(begin, 0).UTC()
			for range random.Int64N(400) {
				at := begin + random.Int64N(3600)
				requests[h].Requests++
				minute, day, of := (at+phase)/60, at/86400, requests[h].At.Month()
				if minutes[minute] >= perMinute || days[day] >= perDay || limited && months[of] >= limit {
					refused++
					continue
				}
				minutes[minute]++
				days[day]++
				if months[of]++; month.Kind == plans.SomeMonth && months[of] > month.Included {
					overage++
				}
			}
		}
		var bound, most int64
		for _, d := range usage.Replay(requests, plans.Quota{PerMinute: perMinute, PerDay: perDay, Month: month}) {
			bound += d.Least()
			most += d.Overage
		}
		if bound > refused || most < overage {
			t.Fatalf("%d a minute, %d a day, %+v: at least %d refused, in truth %d; at most %d overage, in truth %d",
				perMinute, perDay, month, bound, refused, most, overage)
		}
	}
}

var january31 = time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)

// randomMonth includes about as many requests, or is none.
func randomMonth(random *rand.Rand, about int64) plans.Month {
	overages := []plans.Overage{
		{}, {Kind: plans.OverageNumber, Value: 1 + random.Int64N(about)}, {Kind: plans.OverageShare, Value: 20},
		{Kind: plans.OverageUnlimited},
	}
	if random.IntN(4) == 0 {
		return plans.Month{}
	}
	return plans.Month{
		Kind: plans.SomeMonth, Included: 1 + random.Int64N(2*about), Overage: overages[random.IntN(len(overages))],
	}
}

// TestReplayOfAMonth: the month admits its cap and bills what is above the included number, from the
// first of each month anew.
func TestReplayOfAMonth(t *testing.T) {
	t.Parallel()
	twenty := plans.Overage{Kind: plans.OverageShare, Value: 20}
	r := usage.Replayer{Quota: plans.Quota{
		PerMinute: 100, PerDay: 700, Month: plans.Month{Kind: plans.SomeMonth, Included: 1000, Overage: twenty},
	}}
	var got []usage.ReplayedDay
	for i, requests := range []int64{900, 500, 100, 800} {
		got = append(got, r.Day(usage.RecordedDay{Date: january31.AddDate(0, 0, i-2), Requests: requests}))
	}
	assert.DeepEqual(t, got, []usage.ReplayedDay{
		{Date: january31.AddDate(0, 0, -2), Requests: 900, ByDay: 200, Monthly: true},
		{Date: january31.AddDate(0, 0, -1), Requests: 500, Monthly: true, Overage: 200},
		{Date: january31, Requests: 100, Monthly: true, ByMonth: 100},
		{Date: january31.AddDate(0, 0, 1), Requests: 800, ByDay: 100, Monthly: true},
	})
}

// TestReplayOfBusyHours: the busy hours are all that decides, whatever the limits.
func TestReplayOfBusyHours(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	start := noon.Truncate(24 * time.Hour)
	for range 400 {
		perMinute := 1 + random.Int64N(5)
		perDay := perMinute + random.Int64N(3000)
		var hours []usage.Hour
		days := map[time.Time]*usage.RecordedDay{}
		for h := range 24 * 4 {
			if random.IntN(5) == 0 {
				continue
			}
			// About the most that passes in an hour.
			hour := usage.Hour{
				At:       start.Add(time.Duration(h) * time.Hour),
				Requests: perMinute*57 + random.Int64N(perMinute*6),
			}
			hours = append(hours, hour)
			date := hour.At.Truncate(24 * time.Hour)
			if days[date] == nil {
				days[date] = &usage.RecordedDay{Date: date}
			}
			days[date].Requests += hour.Requests
			if hour.Requests > usage.QuietHour(perMinute) {
				days[date].Busy = append(days[date].Busy, hour)
			}
		}
		q := plans.Quota{PerMinute: perMinute, PerDay: perDay, Month: randomMonth(random, 3*perDay)}
		r := usage.Replayer{Quota: q}
		for _, want := range usage.Replay(hours, q) {
			if got := r.Day(*days[want.Date]); got != want {
				t.Fatalf("%d a minute, %d a day: busy hours %+v, all hours %+v", perMinute, perDay, got, want)
			}
		}
	}
}

func TestTenantsReplay(t *testing.T) {
	t.Parallel()
	r := usage.NewTenantsReplay(plans.Quota{PerMinute: 10, PerDay: 1000})
	date := noon.Truncate(24 * time.Hour)
	for tenant, days := range map[int64][]usage.RecordedDay{
		1: {{Date: date, Requests: 900}},
		// On the first day more was refused in fact; the second day counts all the same.
		2: {{Date: date, Requests: 1100, Refused: 500}, {Date: date.AddDate(0, 0, 1), Requests: 1200, Refused: 150}},
		3: {{Date: date, Requests: 700, Busy: []usage.Hour{{At: date, Requests: 700}}}},
		4: {{Date: date, Requests: 1090}},
	} {
		for _, d := range days {
			r.Add(tenant, d)
		}
	}
	want := []usage.ReplayedTenant{
		{TenantID: 3, Requests: 700, ByMinute: 90, More: 90, DaysMore: 1},
		{TenantID: 4, Requests: 1090, ByDay: 90, More: 90, DaysMore: 1},
		{TenantID: 2, Requests: 2300, Refused: 650, ByDay: 300, More: 50, DaysMore: 1},
	}
	assert.DeepEqual(t, r.Affected(), want, "affected")
	sum, tenants := r.Sum()
	if want := (usage.ReplayedTenant{Requests: 4990, Refused: 650, ByDay: 390, ByMinute: 90, More: 230,
		DaysMore: 3}); sum != want ||
		tenants != 4 {
		t.Errorf("%d tenants, sum %+v, want 4, %+v", tenants, sum, want)
	}
}
