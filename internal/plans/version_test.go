package plans

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNextVersion(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)
	later := now.AddDate(0, 0, 10)
	pro := Version{
		Plan:       Pro,
		Number:     3,
		Generation: 2,
		Quota:      &Quota{PerMinute: 300, PerDay: 10_000},
		From:       now.AddDate(-1, 0, 0),
	}
	at := func(v Version, from time.Time) Version { v.From = from; return v }
	next := func(generation int, perMinute, perDay int64, from time.Time) Version {
		return Version{
			Plan:       Pro,
			Number:     4,
			Generation: generation,
			Quota:      &Quota{PerMinute: perMinute, PerDay: perDay},
			From:       from,
		}
	}
	for name, test := range map[string]struct {
		last Version
		edit VersionEdit
		want Version
		ok   bool
		err  error
	}{
		"now": {pro, VersionEdit{PerMinute: 400}, next(2, 400, 10_000, now), true, nil},
		"later": {pro, VersionEdit{PerDay: 9000, From: later}, next(2, 300, 9000, later), true,
			nil},
		"a generation": {pro, VersionEdit{PerMinute: 1, PerDay: 2, KeepExisting: true},
			next(3, 1, 2, now), true, nil},
		"the same numbers":         {pro, VersionEdit{PerMinute: 300}, next(2, 300, 10_000, now), false, nil},
		"no numbers":               {pro, VersionEdit{KeepExisting: true}, next(3, 300, 10_000, now), false, nil},
		"more a minute than a day": {pro, VersionEdit{PerDay: 299}, Version{}, false, NumbersError{}},
		"the past": {pro, VersionEdit{PerMinute: 1, From: now.Add(-1)}, Version{}, false,
			ErrVersionPast},
		"agreed with each tenant": {Version{Plan: Enterprise, Number: 1, Generation: 1}, VersionEdit{PerMinute: 1},
			Version{}, false, ErrNoNumbers},
		"in the same instant": {at(pro, now), VersionEdit{PerMinute: 1},
			next(2, 1, 10_000, now.Add(time.Microsecond)), true, nil},
		"before a scheduled one": {at(pro, later), VersionEdit{PerMinute: 1}, Version{}, false,
			VersionScheduledError{at(pro, later)}},
		"as early as it": {at(pro, later), VersionEdit{PerMinute: 1, From: later}, Version{}, false,
			VersionScheduledError{at(pro, later)}},
		"after a scheduled one": {at(pro, later), VersionEdit{PerMinute: 1, From: later.Add(1)},
			next(2, 1, 10_000, later.Add(1)), true, nil},
		"one is scheduled, the past": {at(pro, later), VersionEdit{PerMinute: 1, From: now.Add(-1)}, Version{}, false,
			ErrVersionPast},
	} {
		got, ok, err := test.edit.Next(test.last, now)
		var invalid NumbersError
		wantErr := errors.Is(err, test.err) || errors.Is(test.err, NumbersError{}) && errors.As(err, &invalid)
		if diff := cmp.Diff(test.want, got); diff != "" || ok != test.ok || !wantErr {
			t.Errorf("%s: %v, %v, want %v, %v (-want +got):\n%s", name, ok, err, test.ok, test.err, diff)
		}
	}
}

// TestNextVersionOfMonths: a day's number that is the month's cap stays the cap, another one stays.
func TestNextVersionOfMonths(t *testing.T) {
	t.Parallel()
	share := func(included int64) Month {
		return Month{Kind: SomeMonth, Included: included, Overage: Overage{Kind: OverageShare, Value: 20}}
	}
	more := Month{Kind: SomeMonth, Included: 300}
	unlimited := Month{Overage: Overage{Kind: OverageUnlimited}}
	none := Month{Overage: Overage{Kind: NoOverage}}
	for name, test := range map[string]struct {
		last Quota
		edit VersionEdit
		day  int64
	}{
		"the cap":             {Quota{10, 240, share(200)}, VersionEdit{Month: more}, 360},
		"less overage":        {Quota{10, 240, share(200)}, VersionEdit{Month: none}, 200},
		"a day was given":     {Quota{10, 240, share(200)}, VersionEdit{PerDay: 250, Month: more}, 250},
		"no cap any more":     {Quota{10, 240, share(200)}, VersionEdit{Month: unlimited}, 240},
		"no month any more":   {Quota{10, 240, share(200)}, VersionEdit{Month: Month{Kind: NoMonth}}, 240},
		"less than the cap":   {Quota{10, 239, share(200)}, VersionEdit{Month: more}, 239},
		"there was no month":  {Quota{10, 240, Month{}}, VersionEdit{Month: more}, 240},
		"another number only": {Quota{10, 240, share(200)}, VersionEdit{PerMinute: 20}, 240},
	} {
		got, _, err := test.edit.Next(Version{Plan: Pro, Quota: &test.last}, time.Now())
		if err != nil || got.Quota.PerDay != test.day {
			t.Errorf("%s: %v, %v, want %d per day", name, got.Quota, err, test.day)
		}
	}
	_, _, err := VersionEdit{Month: Month{Kind: SomeMonth, Included: 5}}.Next(
		Version{Plan: Pro, Quota: &Quota{10, 240, share(200)}}, time.Now())
	if want := "requests per minute (10) must not exceed requests per day (6: what the month admits)"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestCheckPlanName(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"pro": true, "pro-2027": true, "0": true, "": false, "-pro": false,
		"Pro": false, "pro plan": false} {
		if err := CheckPlanName(name); (err == nil) != ok || err != nil && !errors.Is(err, ErrPlanName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
