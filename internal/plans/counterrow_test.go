package plans

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The rows of the tests are tenant 1's at noon.
var (
	rowMinute   = minuteAt(1, noon)
	rowDay      = DayAt(noon)
	minuteStart = time.Unix(minuteReset(1, rowMinute-1), 0)
)

func tenantRow(term int64, redis bool, minuteUsed, dayUsed int64) CounterRow {
	return CounterRow{Term: term, Redis: redis, Minute: rowMinute, MinuteUsed: minuteUsed, Day: rowDay, DayUsed: dayUsed}
}

func TestFirstUseInATerm(t *testing.T) {
	t.Parallel()
	q := Quota{PerMinute: 60, PerDay: 1000}
	silent := minuteStart.Add(time.Second)
	for name, tt := range map[string]struct {
		row      CounterRow
		closed   time.Time
		recorded Recorded
		at       time.Time
		want     Baseline
	}{
		"never used":               {want: Baseline{Minute: rowMinute, Day: rowDay}},
		"never used, but recorded": {recorded: Recorded{Used: 7}, want: Baseline{Minute: rowMinute, Day: rowDay, DayUsed: 7}},
		"granted by Postgres": {
			row: tenantRow(4, false, 30, 300), recorded: Recorded{Used: 290},
			want: Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300},
		},
		"granted by Postgres, and a server ended silently": {
			row: tenantRow(4, false, 30, 300), closed: silent,
			want: Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300},
		},
		"reported": {
			row: tenantRow(4, true, 30, 300), recorded: Recorded{Used: 310, PerMinute: 60},
			want: Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 310},
		},
		"a server ended silently in this minute": {
			row: tenantRow(4, true, 30, 300), closed: silent, recorded: Recorded{Used: 310, PerMinute: 60},
			want: Baseline{Minute: rowMinute, MinuteUsed: Saturated, Day: rowDay, DayUsed: 310 + 120},
		},
		"and the plan was a larger one today": {
			row: tenantRow(4, true, 30, 300), closed: silent, recorded: Recorded{Used: 290, PerMinute: 300},
			want: Baseline{Minute: rowMinute, MinuteUsed: Saturated, Day: rowDay, DayUsed: 300 + 600},
		},
		"a server ended silently before this minute": {
			row: tenantRow(4, true, 30, 300), closed: minuteStart,
			want: Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300 + 120},
		},
		"a server ended silently yesterday": {
			row: tenantRow(4, true, 30, 300), closed: noon.Add(-20 * time.Hour),
			want: Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300},
		},
		"it was allowed for before": {
			row:    CounterRow{4, true, silent.UnixMicro(), rowMinute, 30, rowDay, 300},
			closed: silent,
			want:   Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 300},
		},
		"the next minute": {
			row: tenantRow(4, true, 30, 300), at: noon.Add(time.Minute),
			want: Baseline{Minute: rowMinute + 1, Day: rowDay, DayUsed: 300},
		},
		"the next minute, and a server ended silently in the last": {
			row: tenantRow(4, true, 30, 300), closed: silent, at: noon.Add(time.Minute),
			want: Baseline{Minute: rowMinute + 1, Day: rowDay, DayUsed: 300 + 120},
		},
		"a clock that is behind": {
			row: tenantRow(4, true, 30, 3), recorded: Recorded{Used: 999}, at: noon.Add(-13 * time.Hour),
			want: Baseline{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.at.IsZero() {
				tt.at = noon
			}
			rows := CounterRows{Tenant: tt.row}
			if !rows.NeedsRecorded(5) {
				t.Error("it does not ask for what is recorded")
			}
			term := CounterTerm{Number: 5, Redis: true, UncleanUntil: tt.closed, Servers: 2}
			after, got, fresh, err := rows.Initialized(term, InitRequest{Claim: claim(1, q), Term: 5, At: tt.at}, tt.recorded)
			if diff := cmp.Diff(tt.want, got); diff != "" || !fresh || err != nil {
				t.Errorf("Initialized: fresh %v, %v, -want +got:\n%s", fresh, err, diff)
			}
			if after.NeedsRecorded(5) {
				t.Error("it asks for what is recorded once more")
			}
			if _, again, fresh, err := after.Initialized(term, InitRequest{Claim: claim(1, q), Term: 5, At: tt.at}, Recorded{}); fresh ||
				err != nil || again != got {
				t.Errorf("Initialized again: %+v, fresh %v, %v", again, fresh, err)
			}
			term.Redis = false
			_, grant, err := rows.Granted(term, GrantRequest{Claim: claim(1, q), Term: 5, At: tt.at}, tt.recorded)
			if diff := cmp.Diff(Grant{Baseline: tt.want}, grant); diff != "" || err != nil {
				t.Errorf("Granted: %v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	claimed := Claim{TenantID: 1, KeyID: "k", Quota: Quota{PerMinute: 100, PerDay: 1000}, KeyPerMinute: 50}
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
			before := CounterRows{Tenant: tenantRow(5, false, tt.minute, tt.day), Key: tenantRow(5, false, tt.key, 0)}
			before.Key.Day = 0
			after, got, err := before.Granted(CounterTerm{Number: 5, Servers: tt.servers},
				GrantRequest{Claim: claimed, Term: 5, At: noon, Want: tt.want}, Recorded{Used: 5000})
			if err != nil {
				t.Fatal(err)
			}
			want := Grant{Baseline{rowMinute, tt.minute + tt.granted, rowDay, tt.day + tt.granted, tt.key + tt.granted}, tt.granted}
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
	rows := CounterRows{Tenant: tenantRow(5, false, 30, 300), Key: CounterRow{Term: 5, Minute: rowMinute, MinuteUsed: 20}}
	for name, tt := range map[string]struct {
		term             int64
		key              string
		back             Return
		minute, day, own int64
	}{
		"of the tenant":          {5, "", Return{rowMinute, rowDay, 5}, 25, 295, 20},
		"of a key":               {5, "k", Return{rowMinute, rowDay, 5}, 25, 295, 15},
		"after the minute":       {5, "k", Return{rowMinute - 1, rowDay, 5}, 30, 295, 20},
		"after the day":          {5, "k", Return{rowMinute - 1, rowDay - 1, 5}, 30, 300, 20},
		"after the term":         {4, "k", Return{rowMinute, rowDay, 5}, 30, 300, 20},
		"more than there can be": {5, "k", Return{rowMinute, rowDay, 500}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rows.Reported(Report{TenantID: 1, KeyID: tt.key, Term: tt.term, Returns: []Return{tt.back}})
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
	rows := CounterRows{Tenant: tenantRow(5, true, 10, 100)}
	for _, seen := range []Baseline{
		{Minute: rowMinute, MinuteUsed: 40, Day: rowDay, DayUsed: 130},
		{Minute: rowMinute, MinuteUsed: 30, Day: rowDay, DayUsed: 120},
		{Minute: rowMinute - 1, MinuteUsed: 60, Day: rowDay - 1, DayUsed: 900},
		{},
	} {
		rows = rows.Reported(Report{TenantID: 1, Term: 5, Seen: seen})
	}
	if diff := cmp.Diff(CounterRows{Tenant: tenantRow(5, true, 40, 130)}, rows); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	rows = rows.Reported(Report{TenantID: 1, KeyID: "k", Term: 5, Seen: Baseline{Minute: rowMinute + 1, KeyUsed: 3}})
	want := CounterRows{Tenant: tenantRow(5, true, 0, 130), Key: CounterRow{Minute: rowMinute + 1, MinuteUsed: 3}}
	want.Tenant.Minute++
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("of a key in the next minute, -want +got:\n%s", diff)
	}
}

// A minute that was begun by Redis, goes on with Postgres and ends with Redis keeps its count.
func TestAMinuteOverThreeTerms(t *testing.T) {
	t.Parallel()
	c := claim(1, Quota{PerMinute: 100, PerDay: 1000})
	rows, _, _, err := CounterRows{}.Initialized(CounterTerm{Number: 1, Redis: true}, InitRequest{Claim: c, Term: 1, At: noon}, Recorded{})
	if err != nil {
		t.Fatal(err)
	}
	rows = rows.Reported(Report{TenantID: 1, Term: 1, Seen: Baseline{Minute: rowMinute, MinuteUsed: 40, Day: rowDay, DayUsed: 40}})
	rows, p, err := rows.Granted(CounterTerm{Number: 2, Servers: 3}, GrantRequest{Claim: c, Term: 2, At: noon, Want: 1}, Recorded{})
	if err != nil || p.Count != 5 || p.MinuteUsed != 45 {
		t.Fatalf("a grant of the 60 that remain: %+v, %v", p, err)
	}
	rows = rows.Reported(Report{TenantID: 1, Term: 2, Returns: []Return{{rowMinute, rowDay, 2}}})
	_, b, fresh, err := rows.Initialized(CounterTerm{Number: 3, Redis: true}, InitRequest{Claim: c, Term: 3, At: noon}, Recorded{})
	want := Baseline{Minute: rowMinute, MinuteUsed: 43, Day: rowDay, DayUsed: 43}
	if diff := cmp.Diff(want, b); diff != "" || !fresh || err != nil {
		t.Errorf("fresh %v, %v, -want +got:\n%s", fresh, err, diff)
	}
}

func TestTermOver(t *testing.T) {
	t.Parallel()
	c := claim(1, Quota{PerMinute: 100, PerDay: 1000})
	for name, tt := range map[string]struct {
		row   int64
		term  CounterTerm
		asked int64
	}{
		"another is in force":               {0, CounterTerm{Number: 6}, 5},
		"a later one has used the row":      {6, CounterTerm{Number: 5}, 5},
		"it is not yet known to the caller": {4, CounterTerm{Number: 4}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := CounterRows{Tenant: tenantRow(tt.row, false, 1, 1)}
			for _, redis := range []bool{false, true} {
				tt.term.Redis = redis
				after, _, err := rows.Granted(tt.term, GrantRequest{Claim: c, Term: tt.asked, At: noon, Want: 1}, Recorded{})
				if !errors.Is(err, ErrTermOver) || after != rows {
					t.Errorf("Granted: %v, %+v", err, after)
				}
				after, _, _, err = rows.Initialized(tt.term, InitRequest{Claim: c, Term: tt.asked, At: noon}, Recorded{})
				if !errors.Is(err, ErrTermOver) || after != rows {
					t.Errorf("Initialized: %v, %+v", err, after)
				}
			}
		})
	}
	t.Run("of the other kind", func(t *testing.T) {
		t.Parallel()
		_, _, err := CounterRows{}.Granted(CounterTerm{Number: 5, Redis: true}, GrantRequest{Claim: c, Term: 5, At: noon}, Recorded{})
		if !errors.Is(err, ErrTermOver) {
			t.Errorf("Granted: %v", err)
		}
		_, _, _, err = CounterRows{}.Initialized(CounterTerm{Number: 5}, InitRequest{Claim: c, Term: 5, At: noon}, Recorded{})
		if !errors.Is(err, ErrTermOver) {
			t.Errorf("Initialized: %v", err)
		}
	})
}
