package counter_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/counter"
	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/limitstest"
)

// The rows of the tests are tenant 1's at noon.
var (
	rowMinute   = limits.MinuteAt(1, limitstest.Noon)
	rowDay      = limits.DayAt(limitstest.Noon)
	rowMonth    = limits.MonthAt(limitstest.Noon)
	minuteStart = time.Unix(limits.MinuteReset(1, rowMinute-1), 0)
)

func tenantRow(term, minuteUsed, dayUsed int64) counter.Row {
	return counter.Row{Term: term, Minute: rowMinute, MinuteUsed: minuteUsed, Day: rowDay, DayUsed: dayUsed,
		Month: rowMonth, MonthUsed: 4000}
}

// recordedAt is what is recorded of the minute and of the day at noon when that many servers are
// silent.
func recordedAt(minute, day, silent int64) counter.Recorded {
	return counter.Recorded{
		Minute:       rowMinute,
		MinuteUsed:   minute,
		Day:          rowDay,
		DayUsed:      day,
		Month:        rowMonth,
		MonthUsed:    4000,
		PerMinute:    60,
		MinuteSilent: silent,
		DaySilent:    silent,
	}
}

// TestFirstUseInATerm: a term begins where the records stand, whatever the row says, and a silent
// server's margin counts.
func TestFirstUseInATerm(t *testing.T) {
	t.Parallel()
	q := plans.Quota{PerMinute: 60, PerDay: 1000}
	larger := recordedAt(35, 310, 1)
	larger.PerMinute = 300
	inDay := recordedAt(35, 310, 1)
	inDay.MinuteSilent = 0
	next := recordedAt(5, 310, 0)
	next.Minute++
	for name, tt := range map[string]struct {
		row         counter.Row
		recorded    counter.Recorded
		minute, day int64
		in          int64
	}{
		"never used":               {recorded: recordedAt(0, 0, 0), in: rowMinute},
		"never used, but recorded": {recorded: recordedAt(3, 7, 0), minute: 3, day: 7, in: rowMinute},
		"the row knows more: unused grants": {tenantRow(4, 50, 400), recordedAt(30, 300, 0), 30, 300,
			rowMinute},
		"the row knows less: Redis counted": {tenantRow(4, 10, 100), recordedAt(30, 300, 0), 30, 300,
			rowMinute},
		"a server ended silently": {tenantRow(4, 30, 300), recordedAt(35, 310, 1), 38, 313,
			rowMinute},
		"two servers did": {tenantRow(4, 30, 300), recordedAt(35, 310, 2), 41, 316,
			rowMinute},
		"and the plan was a larger one today": {tenantRow(4, 30, 300), larger, 50, 325, rowMinute},
		"one did before this minute":          {tenantRow(4, 30, 300), inDay, 35, 313, rowMinute},
		"a later minute is recorded":          {tenantRow(4, 30, 300), next, 5, 310, rowMinute + 1},
		"the row is of tomorrow: a clock was wrong": {counter.Row{Term: 4, Minute: rowMinute + 1500, MinuteUsed: 60,
			Day: rowDay + 1, DayUsed: 1000}, recordedAt(30, 300, 0), 30, 300, rowMinute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := counter.Baseline{
				Minute:     tt.in,
				MinuteUsed: tt.minute,
				Day:        rowDay,
				DayUsed:    tt.day,
				Month:      rowMonth,
				MonthUsed:  4000,
			}
			c := limitstest.Claim(1, q)
			rows := counter.Rows{Tenant: tt.row}
			redis := counter.Term{Number: 5, Redis: true, Now: limitstest.Noon}
			after, got, fresh, err := rows.Initialized(
				redis,
				counter.InitRequest{Claim: c, Term: 5, At: limitstest.Noon},
				tt.recorded,
			)
			got.LatestMinute, got.LatestDay, got.LatestMonth = 0, 0, 0
			if diff := cmp.Diff(want, got); diff != "" || !fresh || err != nil {
				t.Errorf("Initialized: fresh %v, %v (-want +got)\n%s", fresh, err, diff)
			}
			if _, _, again, _ := after.Initialized(
				redis,
				counter.InitRequest{Claim: c, Term: 5, At: limitstest.Noon},
				tt.recorded,
			); again {
				t.Error("the second call is the first")
			}
			_, grant, err := rows.Granted(
				counter.Term{Number: 5, Servers: 1, Now: limitstest.Noon},
				counter.GrantRequest{Claim: c, Term: 5, At: limitstest.Noon},
				tt.recorded,
			)
			assert.Result(t, grant, err, counter.Grant{Baseline: want}, "Granted")
		})
	}
}

// TestWanted: a new term begins in the present windows at least, although the request has waited
// since before them. Later ones count if they are recorded and have begun. Within a term only a
// key's first use needs what is recorded, of the very minute.
func TestWanted(t *testing.T) {
	t.Parallel()
	c := limits.Claim{TenantID: 1, KeyID: "k", Quota: plans.Quota{PerMinute: 60, PerDay: 1000}, KeyPerMinute: 20}
	now := minuteStart.Add(time.Minute - time.Second/2)
	term := counter.Term{Number: 5, Redis: true, Now: now}
	for name, tt := range map[string]struct {
		rows  counter.Rows
		want  counter.Wanted
		needs bool
	}{
		"a new term": {counter.Rows{Tenant: tenantRow(4, 1, 1)},
			counter.Wanted{rowMinute, rowDay, rowMonth, rowMinute + 1, rowDay, rowMonth}, true},
		"another key was first": {counter.Rows{Tenant: tenantRow(5, 1, 1), Key: tenantRow(4, 9, 0)},
			counter.Wanted{rowMinute, rowDay, rowMonth, rowMinute, rowDay, rowMonth}, true},
		"the key is not new": {counter.Rows{Tenant: tenantRow(5, 1, 1), Key: tenantRow(5, 1, 0)},
			counter.Wanted{rowMinute, rowDay, rowMonth, rowMinute, rowDay, rowMonth}, false},
	} {
		if got, needs := tt.rows.NeedsRecorded(
			term,
			&c,
			now.Add(-time.Hour),
		); needs != tt.needs || tt.rows.Tenant.Term == 4 && got != tt.want ||
			tt.rows.Tenant.Term == 5 && got.Minute != rowMinute {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, needs, tt.want, tt.needs)
		}
	}
}

// TestKeyInATerm: a key's minute begins at what is recorded of it, and the margin.
func TestKeyInATerm(t *testing.T) {
	t.Parallel()
	c := limits.Claim{TenantID: 1, KeyID: "k", Quota: plans.Quota{PerMinute: 60, PerDay: 1000}, KeyPerMinute: 20}
	term := counter.Term{Number: 5, Redis: true, Now: limitstest.Noon}
	recorded := recordedAt(35, 310, 1)
	recorded.KeyUsed = 11
	for name, row := range map[string]counter.Row{"without a row": {},
		"with one": {Term: 4, Minute: rowMinute, MinuteUsed: 9}} {
		// Another key was first in the term.
		rows := counter.Rows{Tenant: tenantRow(5, 38, 313), Key: row}
		after, b, fresh, err := rows.Initialized(
			term,
			counter.InitRequest{Claim: c, Term: 5, At: limitstest.Noon},
			recorded,
		)
		if b.KeyUsed != 14 || fresh || err != nil || after.Tenant != rows.Tenant {
			t.Errorf("%s: %+v, fresh %v, %v, want 14 of the key", name, b, fresh, err)
		}
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
			before := counter.Rows{Tenant: tenantRow(5, tt.minute, tt.day), Key: tenantRow(5, tt.key, 0)}
			before.Key.Day = 0
			after, got, err := before.Granted(
				counter.Term{Number: 5, Servers: tt.servers, Now: limitstest.Noon},
				counter.GrantRequest{
					Claim: claimed,
					Term:  5,
					At:    limitstest.Noon,
					Want:  tt.want,
				},
				recordedAt(5000, 5000, 0),
			)
			assert.NoError(t, err)
			want := counter.Grant{
				counter.Baseline{
					Minute:     rowMinute,
					MinuteUsed: tt.minute + tt.granted,
					Day:        rowDay,
					DayUsed:    tt.day + tt.granted,
					Month:      rowMonth,
					MonthUsed:  4000,
					KeyUsed:    tt.key + tt.granted,
				},
				tt.granted,
			}
			assert.DeepEqual(t, got, want, "grant")
			before.Tenant.MinuteUsed += tt.granted
			before.Tenant.DayUsed += tt.granted
			before.Key.MinuteUsed += tt.granted
			assert.DeepEqual(t, after, before, "rows")
		})
	}
}

func TestGivenBack(t *testing.T) {
	t.Parallel()
	rows := counter.Rows{Tenant: tenantRow(5, 30, 300), Key: counter.Row{Term: 5, Minute: rowMinute, MinuteUsed: 20}}
	for name, tt := range map[string]struct {
		key              string
		back             counter.Return
		minute, day, own int64
	}{
		"of the tenant":          {"", counter.Return{rowMinute, rowDay, rowMonth, 5}, 25, 295, 20},
		"of a key":               {"k", counter.Return{rowMinute, rowDay, rowMonth, 5}, 25, 295, 15},
		"after the minute":       {"k", counter.Return{rowMinute - 1, rowDay, rowMonth, 5}, 30, 295, 20},
		"after the day":          {"k", counter.Return{rowMinute - 1, rowDay - 1, rowMonth, 5}, 30, 300, 20},
		"after the month":        {"k", counter.Return{rowMinute - 1, rowDay - 1, rowMonth - 1, 5}, 30, 300, 20},
		"not in a month":         {"k", counter.Return{rowMinute, rowDay, 0, 5}, 25, 295, 15},
		"more than there can be": {"k", counter.Return{rowMinute, rowDay, rowMonth, 500}, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := limits.Claim{
				TenantID:     1,
				KeyID:        tt.key,
				Quota:        plans.Quota{PerMinute: 100, PerDay: 1000},
				KeyPerMinute: int64(len(tt.key)) * 50,
			}
			r := counter.GrantRequest{Claim: c, Term: 5, At: limitstest.Noon, Returns: []counter.Return{tt.back}}
			got, _, err := rows.Granted(
				counter.Term{Number: 5, Servers: 1, Now: limitstest.Noon},
				r,
				counter.Recorded{},
			)
			assert.NoError(t, err)
			want := rows
			want.Tenant.MinuteUsed, want.Tenant.DayUsed, want.Key.MinuteUsed = tt.minute, tt.day, tt.own
			if tt.back.Month == rowMonth {
				want.Tenant.MonthUsed -= tt.back.Count
			}
			assert.DeepEqual(t, got, want)
		})
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
			rows := counter.Rows{Tenant: tenantRow(tt.row, 1, 1)}
			for _, redis := range []bool{false, true} {
				tt.term.Redis = redis
				after, _, err := rows.Granted(
					tt.term,
					counter.GrantRequest{Claim: c, Term: tt.requested, At: limitstest.Noon, Want: 1},
					counter.Recorded{},
				)
				assert.True(t, errors.Is(err, counter.ErrTermOver) && after == rows, "Granted:", err, after)
				after, _, _, err = rows.Initialized(
					tt.term,
					counter.InitRequest{Claim: c, Term: tt.requested, At: limitstest.Noon},
					counter.Recorded{},
				)
				assert.True(t, errors.Is(err, counter.ErrTermOver) && after == rows, "Initialized:", err, after)
			}
		})
	}
	t.Run("of the other kind", func(t *testing.T) {
		t.Parallel()
		_, _, err := counter.Rows{}.Granted(
			counter.Term{Number: 5, Redis: true},
			counter.GrantRequest{Claim: c, Term: 5, At: limitstest.Noon},
			counter.Recorded{},
		)
		assert.ErrorIs(t, err, counter.ErrTermOver, "Granted")
		_, _, _, err = counter.Rows{}.Initialized(
			counter.Term{Number: 5},
			counter.InitRequest{Claim: c, Term: 5, At: limitstest.Noon},
			counter.Recorded{},
		)
		assert.ErrorIs(t, err, counter.ErrTermOver, "Initialized")
	})
}

// TestWindowsThatHaveNotBegun: no request opens a window that has not begun by the store's clock.
func TestWindowsThatHaveNotBegun(t *testing.T) {
	t.Parallel()
	c := limitstest.Claim(1, plans.Quota{PerMinute: 60, PerDay: 1000})
	now := minuteStart.Add(58 * time.Second) // Two seconds before the minute ends.
	for ahead, want := range map[time.Duration]error{
		-time.Hour: nil, 0: nil, time.Second: nil, 2*time.Second - 1: nil,
		2 * time.Second: counter.ErrNotBegun, time.Minute: counter.ErrNotBegun, 25 * time.Hour: counter.ErrNotBegun,
	} {
		before := counter.Rows{Tenant: tenantRow(4, 30, 300)}
		redis := counter.Term{Number: 5, Redis: true, Now: now}
		after, _, _, err := before.Initialized(
			redis,
			counter.InitRequest{Claim: c, Term: 5, At: now.Add(ahead)},
			counter.Recorded{},
		)
		if !errors.Is(err, want) || want != nil && after != before {
			t.Errorf("Initialized, %v ahead: %v, %+v", ahead, err, after)
		}
		postgres := counter.Term{Number: 5, Servers: 1, Now: now}
		after, _, err = before.Granted(
			postgres,
			counter.GrantRequest{Claim: c, Term: 5, At: now.Add(ahead), Want: 1},
			counter.Recorded{},
		)
		if !errors.Is(err, want) || want != nil && after != before {
			t.Errorf("Granted, %v ahead: %v, %+v", ahead, err, after)
		}
	}
}
