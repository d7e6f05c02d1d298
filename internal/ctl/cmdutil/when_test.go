package cmdutil

import (
	"strings"
	"testing"
	"time"
)

func TestParseWhen(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, c := range []struct{ text, anchor, want string }{
		{"now", "2026-11-20T10:30:00Z", "2026-11-20T10:30:00Z"},
		{"now", "2026-11-20T10:30:00.123456Z", "2026-11-20T10:30:00.123456Z"},
		{"+14d", "2026-11-20T10:30:00.923456Z", "2026-12-04T10:30:00Z"},
		{"tomorrow", "2030-01-01T00:00:00Z", "2026-11-21T00:00:00Z"},
		{"+14d", "2026-11-20T10:30:00Z", "2026-12-04T10:30:00Z"},
		{"+48h", "2026-11-20T10:30:00Z", "2026-11-22T10:30:00Z"},
		{"+2w", "2026-12-25T00:00:00Z", "2027-01-08T00:00:00Z"},
		{"+1h30m", "2026-11-20T10:30:00Z", "2026-11-20T12:00:00Z"},
		{"+30m", "2026-11-20T10:30:00Z", "2026-11-20T11:00:00Z"},
		{"+1mo", "2026-11-20T10:30:00Z", "2026-12-20T10:30:00Z"},
		{"+1mo", "2027-01-31T10:30:00Z", "2027-02-28T10:30:00Z"},
		{"+2mo", "2027-01-31T10:30:00Z", "2027-03-31T10:30:00Z"},
		{"+1mo", "2028-01-30T23:59:59Z", "2028-02-29T23:59:59Z"},
		{"+13mo", "2027-01-31T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"+12mo", "2028-02-29T00:00:00Z", "2029-02-28T00:00:00Z"},
		{"+3mo", "2026-12-31T00:00:00Z", "2027-03-31T00:00:00Z"},
		{"+1mo", "2027-03-31T00:30:00+14:00", "2027-04-30T10:30:00Z"},
		{"2026-12-01", "2030-01-01T00:00:00Z", "2026-12-01T00:00:00Z"},
		{"2026-12-01T15:00Z", "2030-01-01T00:00:00Z", "2026-12-01T15:00:00Z"},
		{"2026-12-01T15:00:07Z", "2030-01-01T00:00:00Z", "2026-12-01T15:00:07Z"},
		{"2026-12-01T15:00+01:00", "2030-01-01T00:00:00Z", "2026-12-01T14:00:00Z"},
		{"14d", "2026-11-20T10:30:00.923456Z", "2026-12-04T10:30:00Z"},
		{"14 days", "2026-11-20T10:30:00Z", "2026-12-04T10:30:00Z"},
		{"in 2 weeks", "2026-11-20T10:30:00Z", "2026-12-04T10:30:00Z"},
		{"1d12h", "2026-11-20T10:30:00Z", "2026-11-21T22:30:00Z"},
		{"1y", "2028-02-29T00:00:00Z", "2029-02-28T00:00:00Z"},
		{"1y6mo", "2026-11-20T10:30:00Z", "2028-05-20T10:30:00Z"},
		{"-7d", "2026-11-20T10:30:00Z", "2026-11-13T10:30:00Z"},
		{"7d ago", "2026-11-20T10:30:00Z", "2026-11-13T10:30:00Z"},
		{"1 month ago", "2027-03-31T10:30:00Z", "2027-02-28T10:30:00Z"},
		{"today", "2030-01-01T00:00:00Z", "2026-11-20T00:00:00Z"},
		{"yesterday", "2030-01-01T00:00:00Z", "2026-11-19T00:00:00Z"},
		{"tomorrow 14:00", "2030-01-01T00:00:00Z", "2026-11-21T14:00:00Z"},
		{"today 9:30+01:00", "2030-01-01T00:00:00Z", "2026-11-20T08:30:00Z"},
		{"tuesday", "2030-01-01T00:00:00Z", "2026-11-24T00:00:00Z"},
		{"Next Fri 14:00", "2030-01-01T00:00:00Z", "2026-11-27T14:00:00Z"},
		{"last friday", "2030-01-01T00:00:00Z", "2026-11-13T00:00:00Z"},
		{"2026-12-01 15:00", "2030-01-01T00:00:00Z", "2026-12-01T15:00:00Z"},
		{"Tomorrow", "2030-01-01T00:00:00Z", "2026-11-21T00:00:00Z"},
		{"2026-12-01 15:00Z", "2030-01-01T00:00:00Z", "2026-12-01T15:00:00Z"},
		{"2026-12-01T15:00:00.1234567Z", "2030-01-01T00:00:00Z", "2026-12-01T15:00:00.123456Z"},
	} {
		w, err := ParseWhen(c.text, testNow)
		if err != nil || !w.IsSet() || w.IsNow() != (c.text == "now") {
			t.Errorf("%q: %+v, %v", c.text, w, err)
		}
		if got := w.After(at(c.anchor)); !got.Equal(at(c.want)) || got.Location() != time.UTC {
			t.Errorf("%q after %s: %v, want %s", c.text, c.anchor, got, c.want)
		}
	}
}

func TestParseWhenRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "not a time; want now, tomorrow 14:00, tuesday, 14d", "garbage": "not a time", "14": "not a time",
		"1M": "not a time", "next week": "not a time",
		"2026-02-30": "not a time", "12/01/2026": "not a time", "1794000000": "not a time", "2026-12": "not a time",
		"tomorrow 24:00": "not a time", "14:00": "not a time", "14d 15:00": "not a time", "last today": "not a time",
		"last 2026-12-01": "not a time",
		"9999-12-31":      "100 years", "0001-01-01": "100 years", "1926-01-01": "100 years",
		"+": "not a time", "+14": "not a time", "+-1d": "not a time", "++1d": "not a time", "-7d ago": "not a time",
		"+0d": "not a time", "in": "not a time", "ago": "not a time",
		"+99999999999999999999d": "100 years", "+0mo": "not a time", "+1.5mo": "not a time", "+1201mo": "100 years",
		"101y":                    "100 years",
		"+99999999999999999999mo": "100 years",
	} {
		if got, err := ParseWhen(text, testNow); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, want)
		}
	}
}

func TestParsePast(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"7d": "2026-11-13T10:30:00Z", "-7d": "2026-11-13T10:30:00Z", "7d ago": "2026-11-13T10:30:00Z",
		"90 minutes ago": "2026-11-20T09:00:00Z",
		"1mo":            "2026-10-20T10:30:00Z", "yesterday": "2026-11-19T00:00:00Z",
		"today": "2026-11-20T00:00:00Z", "now": "2026-11-20T10:30:00Z",
		"2026-11-01": "2026-11-01T00:00:00Z", "2026-11-01T15:00+01:00": "2026-11-01T14:00:00Z",
		"tuesday": "2026-11-17T00:00:00Z", "last tuesday 14:00": "2026-11-17T14:00:00Z",
		"next tue": "2026-11-24T00:00:00Z",
		// The end of today, and of what is scheduled.
		"tomorrow": "2026-11-21T00:00:00Z", "2026-12-01": "2026-12-01T00:00:00Z",
	} {
		if got, err := ParsePast(text, testNow); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "not a time; want now, today, yesterday 14:00, tuesday, 7d", "last week": "not a time",
		"+7d": "in the future: want a time ago, such as 7d", "in 7d": "in the future",
		"-7d ago": "not a time", "200y": "100 years",
	} {
		if got, err := ParsePast(text, testNow); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
}

func TestMonthsAreCountedFromTheAnchor(t *testing.T) {
	t.Parallel()
	for d := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC); d.Year() < 2031; d = d.Add(day) {
		for months := 1; months <= 25; months++ {
			first := time.Date(d.Year(), d.Month()+time.Month(months), 1, 12, 0, 0, 0, time.UTC)
			last := first.AddDate(0, 1, -1)
			want := first.AddDate(0, 0, min(d.Day(), last.Day())-1)
			if got := (When{text: "x", length: length{months: months}}).After(d); !got.Equal(want) {
				t.Fatalf("%d months after %v: %v, want %v", months, d, got, want)
			}
		}
	}
}
