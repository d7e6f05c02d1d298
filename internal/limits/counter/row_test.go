package counter_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/limitstest"
)

// The rows of the tests are tenant 1's at noon.
var (
	rowMinute   = limits.MinuteAt(1, limitstest.Noon)
	rowDay      = limits.DayAt(limitstest.Noon)
	minuteStart = time.Unix(limits.MinuteReset(1, rowMinute-1), 0)
)

func tenantRow(term int64, redis bool, minuteUsed, dayUsed int64) counter.Row {
	return counter.Row{Term: term, Redis: redis, Minute: rowMinute, MinuteUsed: minuteUsed, Day: rowDay, DayUsed: dayUsed}
}

// silently is what is recorded of the day and of the minute when that many servers are silent.
func silently(day, minute, servers int64) counter.Recorded {
	return counter.Recorded{Used: day, PerMinute: 60, MinuteNumber: rowMinute, Minute: minute, Silent: servers, SilentMinute: servers}
}

func unknown(b counter.Baseline, minute, day int64) counter.Baseline {
	b.Unknown = limits.Unknown{Minute: minute, Day: day}
	return b
}

func TestFirstUseInATerm(t *testing.T) {
	t.Parallel()
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	silent := minuteStart.Add(time.Second)
	for name, tt := range map[string]struct {
		row      counter.Row
		closed   time.Time
		recorded counter.Recorded
		at       time.Time
		setBack  int64
		want     counter.Baseline
	}{
		"never used":               {want: counter.Baseline{Minute: rowMinute, Day: rowDay}},
		"never used, but recorded": {recorded: counter.Recorded{Used: 7}, want: counter.Baseline{Minute: rowMinute, Day: rowDay, DayUsed: 7}},
		"granted by Postgres": {
			row: tenantRow(4, false, 30, 300), recorded: counter.Recorded{Used: 290},
			want: counter.Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300},
		},
		"granted by Postgres, and a server ended silently": {
			row: tenantRow(4, false, 30, 300), closed: silent,
			want: counter.Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300},
		},
		"reported": {
			row: tenantRow(4, true, 30, 300), recorded: counter.Recorded{Used: 310, PerMinute: 60},
			want: counter.Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 310},
		},
		"a server ended silently in this minute": {
			row: tenantRow(4, true, 30, 300), closed: silent, recorded: silently(310, 35, 1),
			want: unknown(counter.Baseline{Minute: rowMinute, MinuteUsed: 38, Day: rowDay, DayUsed: 313}, 3, 3),
		},
		"two servers did": {
			row: tenantRow(4, true, 30, 300), closed: silent, recorded: silently(310, 35, 2),
			want: unknown(counter.Baseline{Minute: rowMinute, MinuteUsed: 41, Day: rowDay, DayUsed: 316}, 6, 6),
		},
		"and more than it can have admitted was seen": {
			row: tenantRow(4, true, 30, 300), closed: silent, recorded: silently(290, 20, 1),
			want: counter.Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300},
		},
		"and the plan was a larger one today": {
			row: tenantRow(4, true, 30, 300), closed: silent,
			recorded: counter.Recorded{Used: 310, PerMinute: 300, MinuteNumber: rowMinute, Minute: 35, Silent: 1, SilentMinute: 1},
			want:     unknown(counter.Baseline{Minute: rowMinute, MinuteUsed: 50, Day: rowDay, DayUsed: 325}, 15, 15),
		},
		"and the minute's record is lost": {
			row: tenantRow(4, true, 30, 300), closed: silent, recorded: counter.Recorded{Used: 310, MinuteNumber: -1, Silent: 1},
			want: unknown(counter.Baseline{Minute: rowMinute, MinuteUsed: limits.Saturated, Day: rowDay, DayUsed: 313}, limits.Saturated-30, 3),
		},
		"a server ended silently before this minute": {
			row: tenantRow(4, true, 30, 300), closed: minuteStart, recorded: silently(310, 35, 1),
			want: unknown(counter.Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 313}, 0, 3),
		},
		"a server ended silently yesterday": {
			row: tenantRow(4, true, 30, 300), closed: limitstest.Noon.Add(-20 * time.Hour),
			want: counter.Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300},
		},
		"it was allowed for before": {
			row:    counter.Row{Term: 4, Redis: true, Accounted: silent.UnixMicro(), Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300},
			closed: silent, recorded: silently(310, 35, 1),
			want: counter.Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 310},
		},
		"it has recorded what it admitted": {
			row: counter.Row{
				Term: 4, Redis: true, Accounted: silent.UnixMicro(), Minute: rowMinute, MinuteUsed: 38, MinuteUnknown: 3,
				Day: rowDay, DayUsed: 313, DayUnknown: 3,
			},
			closed: silent, recorded: silently(312, 37, 0),
			want: counter.Baseline{Minute: rowMinute, MinuteUsed: 37, Day: rowDay, DayUsed: 312},
		},
		"it has not recorded what it admitted": {
			row: counter.Row{
				Term: 4, Redis: true, Accounted: silent.UnixMicro(), Minute: rowMinute, MinuteUsed: 43, MinuteUnknown: 3,
				Day: rowDay, DayUsed: 318, DayUnknown: 3,
			},
			closed: silent, recorded: silently(315, 40, 1),
			want: unknown(counter.Baseline{Minute: rowMinute, MinuteUsed: 43, Day: rowDay, DayUsed: 318}, 3, 3),
		},
		"the store was set back on that day": {
			row: tenantRow(4, true, 30, 300), closed: silent, setBack: 5, recorded: silently(10, 10, 1),
			want: unknown(counter.Baseline{Minute: rowMinute, MinuteUsed: limits.Saturated, Day: rowDay, DayUsed: 420}, limits.Saturated-30, 120),
		},
		"the next minute": {
			row: tenantRow(4, true, 30, 300), at: limitstest.Noon.Add(time.Minute),
			want: counter.Baseline{Minute: rowMinute + 1, Day: rowDay, DayUsed: 300},
		},
		"the next minute, and a server ended silently in the last": {
			row: tenantRow(4, true, 30, 300), closed: silent, at: limitstest.Noon.Add(time.Minute), recorded: silently(310, 0, 1),
			want: unknown(counter.Baseline{Minute: rowMinute + 1, Day: rowDay, DayUsed: 313}, 0, 3),
		},
		"a minute that begins before the server has surely stopped": {
			row: tenantRow(4, true, 30, 300), closed: minuteStart.Add(time.Minute + time.Second),
			recorded: counter.Recorded{Used: 310, MinuteNumber: rowMinute + 1, Minute: 1, Silent: 1, SilentMinute: 1},
			want:     unknown(counter.Baseline{Minute: rowMinute + 1, MinuteUsed: 4, Day: rowDay, DayUsed: 313}, 3, 3),
		},
		"a clock that is behind": {
			row: tenantRow(4, true, 30, 3), at: limitstest.Noon.Add(-13 * time.Hour),
			want: counter.Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.at.IsZero() {
				tt.at = limitstest.Noon
			}
			rows := counter.Rows{Tenant: tt.row}
			term := counter.Term{Number: 5, Redis: true, UncleanUntil: tt.closed, Servers: 2, SetBack: tt.setBack, SetBackAt: limitstest.Noon}
			c := limitstest.Claim(1, q)
			if minute, day, needs := rows.NeedsRecorded(term, &c, tt.at); !needs || minute != tt.want.Minute || day != tt.want.Day {
				t.Errorf("it needs what is recorded of minute %d and day %d, %v", minute, day, needs)
			}
			after, got, fresh, err := rows.Initialized(term, counter.InitRequest{Claim: limitstest.Claim(1, q), Term: 5, At: tt.at}, tt.recorded)
			if diff := cmp.Diff(tt.want, got); diff != "" || !fresh || err != nil {
				t.Errorf("Initialized: fresh %v, %v, -want +got:\n%s", fresh, err, diff)
			}
			if _, _, needs := after.NeedsRecorded(term, &c, tt.at); needs {
				t.Error("it needs what is recorded once more")
			}
			if _, again, fresh, err := after.Initialized(term, counter.InitRequest{Claim: limitstest.Claim(1, q), Term: 5, At: tt.at}, counter.Recorded{}); fresh ||
				err != nil || again != got {
				t.Errorf("Initialized again: %+v, fresh %v, %v", again, fresh, err)
			}
			term.Redis = false
			_, grant, err := rows.Granted(term, counter.GrantRequest{Claim: limitstest.Claim(1, q), Term: 5, At: tt.at}, tt.recorded)
			if diff := cmp.Diff(counter.Grant{Baseline: tt.want}, grant); diff != "" || err != nil {
				t.Errorf("Granted: %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// TestSetBackGivesNothingBack: the store was set back, and a server ended silently. What it recorded is lost too, so later terms don't give
// back what is unknown.
func TestSetBackGivesNothingBack(t *testing.T) {
	t.Parallel()
	claim := limits.Claim{TenantID: 1, KeyID: "k", Quota: plans.Quota{PerMinute: 60, PerDay: 1000}, KeyPerMinute: 20}
	midnight := time.Unix(limits.DayReset(rowDay), 0)
	for name, tt := range map[string]struct {
		setBackAt, at time.Time
		lost          bool
	}{
		"on that day":               {setBackAt: limitstest.Noon, at: limitstest.Noon, lost: true},
		"on the day before":         {setBackAt: limitstest.Noon.Add(-24 * time.Hour), at: limitstest.Noon},
		"in a minute over midnight": {setBackAt: midnight.Add(-time.Second), at: midnight.Add(10 * time.Second), lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			minute, day := limits.MinuteAt(1, tt.at), limits.DayAt(tt.at)
			rows := counter.Rows{
				Tenant: counter.Row{Term: 4, Redis: true, Minute: minute, MinuteUsed: 30, Day: day, DayUsed: 300},
				Key:    counter.Row{Term: 4, Redis: true, Minute: minute, MinuteUsed: 7},
			}
			term := counter.Term{
				Number: 5, Redis: true, UncleanUntil: tt.at, Servers: 2, SetBack: 5, SetBackAt: tt.setBackAt,
			}
			recorded := counter.Recorded{Used: 10, PerMinute: 60, MinuteNumber: minute, Minute: 3, Key: 2}
			for ; term.Number < 7; term.Number++ {
				var b counter.Baseline
				var err error
				rows, b, _, err = rows.Initialized(term, counter.InitRequest{Claim: claim, Term: term.Number, At: tt.at}, recorded)
				if err != nil {
					t.Fatal(err)
				}
				full := b.MinuteUsed == limits.Saturated && b.KeyUsed == limits.Saturated && b.DayUsed == 420
				if full != tt.lost {
					t.Errorf("term %d: %+v, lost %v", term.Number, b, tt.lost)
				}
			}
		})
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	claimed := limits.Claim{TenantID: 1, KeyID: "k", Quota: plans.Quota{PerMinute: 100, PerDay: 1000}, KeyPerMinute: 50}
	for name, tt := range map[string]struct {
		minute, day, key int64
		want, granted    int64
		servers          int
	}{
		"only looked at":               {granted: 0, servers: 1},
		"a part of the key's":          {want: 1, granted: 12, servers: 1},
		"for fewer, of three servers":  {want: 1, granted: 4, servers: 3},
		"as many as wait":              {want: 20, granted: 20, servers: 3},
		"no more than remain":          {want: 60, granted: 50, servers: 3},
		"one at least":                 {key: 49, want: 1, granted: 1, servers: 9},
		"the key is used up":           {key: 50, want: 1, servers: 1},
		"the minute is used up":        {minute: 100, want: 1, servers: 1},
		"more than the limit was used": {minute: 150, want: 1, servers: 1},
		"the day is used up":           {day: 1000, want: 1, servers: 1},
		"the day is nearly used up":    {day: 998, want: 5, granted: 2, servers: 1},
		"nobody knows of any server":   {want: 1, granted: 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := counter.Rows{Tenant: tenantRow(5, false, tt.minute, tt.day), Key: tenantRow(5, false, tt.key, 0)}
			before.Key.Day = 0
			after, got, err := before.Granted(counter.Term{Number: 5, Servers: tt.servers},
				counter.GrantRequest{Claim: claimed, Term: 5, At: limitstest.Noon, Want: tt.want}, counter.Recorded{Used: 5000})
			if err != nil {
				t.Fatal(err)
			}
			want := counter.Grant{counter.Baseline{
				Minute: rowMinute, MinuteUsed: tt.minute + tt.granted, Day: rowDay, DayUsed: tt.day + tt.granted, KeyUsed: tt.key + tt.granted,
			}, tt.granted}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("grant, -want +got:\n%s", diff)
			}
			before.Tenant.MinuteUsed += tt.granted
			before.Tenant.DayUsed += tt.granted
			before.Key.MinuteUsed += tt.granted
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("rows, -want +got:\n%s", diff)
			}
		})
	}
}

func TestGivenBack(t *testing.T) {
	t.Parallel()
	rows := counter.Rows{Tenant: tenantRow(5, false, 30, 300), Key: counter.Row{Term: 5, Minute: rowMinute, MinuteUsed: 20}}
	for name, tt := range map[string]struct {
		term             int64
		key              string
		back             counter.Return
		minute, day, own int64
	}{
		"of the tenant":          {5, "", counter.Return{rowMinute, rowDay, 5}, 25, 295, 20},
		"of a key":               {5, "k", counter.Return{rowMinute, rowDay, 5}, 25, 295, 15},
		"after the minute":       {5, "k", counter.Return{rowMinute - 1, rowDay, 5}, 30, 295, 20},
		"after the day":          {5, "k", counter.Return{rowMinute - 1, rowDay - 1, 5}, 30, 300, 20},
		"after the term":         {4, "k", counter.Return{rowMinute, rowDay, 5}, 30, 300, 20},
		"more than there can be": {5, "k", counter.Return{rowMinute, rowDay, 500}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rows.Reported(counter.Report{TenantID: 1, KeyID: tt.key, Term: tt.term, Returns: []counter.Return{tt.back}})
			want := rows
			want.Tenant.MinuteUsed, want.Tenant.DayUsed, want.Key.MinuteUsed = tt.minute, tt.day, tt.own
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReportsCountByTheGreatest(t *testing.T) {
	t.Parallel()
	rows := counter.Rows{Tenant: tenantRow(5, true, 10, 100)}
	for _, seen := range []counter.Baseline{
		{Minute: rowMinute, MinuteUsed: 40, Day: rowDay, DayUsed: 130},
		{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 120},
		{Minute: rowMinute - 1, MinuteUsed: 60, Day: rowDay - 1, DayUsed: 900},
		{},
	} {
		rows = rows.Reported(counter.Report{TenantID: 1, Term: 5, Seen: seen})
	}
	if diff := cmp.Diff(counter.Rows{Tenant: tenantRow(5, true, 40, 130)}, rows); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	rows = rows.Reported(counter.Report{TenantID: 1, KeyID: "k", Term: 5, Seen: counter.Baseline{Minute: rowMinute + 1, KeyUsed: 3}})
	want := counter.Rows{Tenant: tenantRow(5, true, 0, 130), Key: counter.Row{Minute: rowMinute + 1, MinuteUsed: 3}}
	want.Tenant.Minute++
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("of a key in the next minute, -want +got:\n%s", diff)
	}
}

// TestAMinuteOverThreeTerms is the example of the README: a minute that begins with Redis, continues with Postgres and ends with Redis.
func TestAMinuteOverThreeTerms(t *testing.T) {
	t.Parallel()
	c := limitstest.Claim(1, plans.Quota{PerMinute: 1000, PerDay: 100_000})
	start := counter.InitRequest{Claim: c, Term: 8, At: limitstest.Noon}
	rows, _, _, err := counter.Rows{}.Initialized(counter.Term{Number: 8, Redis: true}, start, counter.Recorded{})
	if err != nil {
		t.Fatal(err)
	}
	used := func(step string, want int64) {
		t.Helper()
		if rows.Tenant.MinuteUsed != want || rows.Tenant.DayUsed != want {
			t.Errorf("%s: %+v, want %d used", step, rows.Tenant, want)
		}
	}
	for _, seen := range []int64{400, 396, 398} {
		b := counter.Baseline{Minute: rowMinute, MinuteUsed: seen, Day: rowDay, DayUsed: seen}
		rows = rows.Reported(counter.Report{TenantID: 1, Term: 8, Seen: b})
	}
	used("reported", 400)
	for _, want := range []int64{50, 45} {
		var g counter.Grant
		r := counter.GrantRequest{Claim: c, Term: 9, At: limitstest.Noon, Want: 1}
		if rows, g, err = rows.Granted(counter.Term{Number: 9, Servers: 3}, r, counter.Recorded{}); err != nil || g.Count != want {
			t.Fatalf("a grant: %+v, %v, want %d", g, err, want)
		}
	}
	used("granted", 495)
	rows = rows.Reported(counter.Report{TenantID: 1, Term: 9, Returns: []counter.Return{{Minute: rowMinute, Day: rowDay, Count: 30}}})
	used("returned", 465)
	start.Term = 10
	_, b, fresh, err := rows.Initialized(counter.Term{Number: 10, Redis: true}, start, counter.Recorded{})
	want := counter.Baseline{Minute: rowMinute, MinuteUsed: 465, Day: rowDay, DayUsed: 465}
	if diff := cmp.Diff(want, b); diff != "" || !fresh || err != nil {
		t.Errorf("fresh %v, %v, -want +got:\n%s", fresh, err, diff)
	}
}

// TestKeyInAnUncleanMinute: a key's minute counts what it recorded and the margin, also if its row is not there any more.
func TestKeyInAnUncleanMinute(t *testing.T) {
	t.Parallel()
	c := limits.Claim{TenantID: 1, KeyID: "k", Quota: plans.Quota{PerMinute: 60, PerDay: 1000}, KeyPerMinute: 20}
	term := counter.Term{Number: 5, Redis: true, UncleanUntil: minuteStart.Add(time.Second)}
	recorded := silently(310, 35, 1)
	recorded.Key = 11
	for name, row := range map[string]counter.Row{"without a row": {}, "with one": {Term: 4, Redis: true, Minute: rowMinute, MinuteUsed: 9}} {
		// Another key was first in the term.
		rows := counter.Rows{Tenant: tenantRow(5, true, 38, 313), Key: row}
		if _, _, needs := rows.NeedsRecorded(term, &c, limitstest.Noon); !needs {
			t.Errorf("%s: it does not need what is recorded", name)
		}
		after, b, fresh, err := rows.Initialized(term, counter.InitRequest{Claim: c, Term: 5, At: limitstest.Noon}, recorded)
		if b.KeyUsed != 14 || b.Unknown.Key != 3 || fresh || err != nil || after.Tenant != rows.Tenant {
			t.Errorf("%s: %+v, fresh %v, %v, want 14 of the key, 3 of them unknown", name, b, fresh, err)
		}
		if _, _, needs := after.NeedsRecorded(term, &c, limitstest.Noon); needs {
			t.Errorf("%s: it needs what is recorded once more", name)
		}
	}
}

func TestTermOver(t *testing.T) {
	t.Parallel()
	c := limitstest.Claim(1, plans.Quota{PerMinute: 100, PerDay: 1000})
	for name, tt := range map[string]struct {
		row       int64
		term      counter.Term
		requested int64
	}{
		"another is in force":               {0, counter.Term{Number: 6}, 5},
		"a later one has used the row":      {6, counter.Term{Number: 5}, 5},
		"it is not yet known to the caller": {4, counter.Term{Number: 4}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := counter.Rows{Tenant: tenantRow(tt.row, false, 1, 1)}
			for _, redis := range []bool{false, true} {
				tt.term.Redis = redis
				after, _, err := rows.Granted(tt.term, counter.GrantRequest{Claim: c, Term: tt.requested, At: limitstest.Noon, Want: 1}, counter.Recorded{})
				if !errors.Is(err, counter.ErrTermOver) || after != rows {
					t.Errorf("Granted: %v, %+v", err, after)
				}
				after, _, _, err = rows.Initialized(tt.term, counter.InitRequest{Claim: c, Term: tt.requested, At: limitstest.Noon}, counter.Recorded{})
				if !errors.Is(err, counter.ErrTermOver) || after != rows {
					t.Errorf("Initialized: %v, %+v", err, after)
				}
			}
		})
	}
	t.Run("of the other kind", func(t *testing.T) {
		t.Parallel()
		_, _, err := counter.Rows{}.Granted(counter.Term{Number: 5, Redis: true}, counter.GrantRequest{Claim: c, Term: 5, At: limitstest.Noon}, counter.Recorded{})
		if !errors.Is(err, counter.ErrTermOver) {
			t.Errorf("Granted: %v", err)
		}
		_, _, _, err = counter.Rows{}.Initialized(counter.Term{Number: 5}, counter.InitRequest{Claim: c, Term: 5, At: limitstest.Noon}, counter.Recorded{})
		if !errors.Is(err, counter.ErrTermOver) {
			t.Errorf("Initialized: %v", err)
		}
	})
}
