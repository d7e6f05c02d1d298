package cmdutil

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/test/assert"
)

var testNow = time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)

func TestExpiresFlag(t *testing.T) {
	t.Parallel()
	f := &Factory{Clock: func() time.Time { return testNow }}
	parse := func(text string) (*time.Time, error) {
		at := &time.Time{}
		cmd := &cobra.Command{}
		ExpiresFlag(cmd, f, &at, "")
		err := cmd.Flags().Set("expires", text)
		return at, err
	}
	for text, want := range map[string]time.Time{
		"never": {}, "90d": testNow.AddDate(0, 0, 90), "+90d": testNow.AddDate(0, 0, 90),
		"in 2 weeks": testNow.AddDate(0, 0, 14), "1h30m": testNow.Add(90 * time.Minute),
		"1y": testNow.AddDate(1, 0, 0), "tomorrow": time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		"36500d":                    testNow.Add(maxDuration),
		"2027-01-01T01:00:00+01:00": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		// The service refuses what is past.
		"yesterday": time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC), "-5d": testNow.AddDate(0, 0, -5),
	} {
		if got, err := parse(text); err != nil || got == nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := parse(""); err != nil || got != nil {
		t.Errorf("empty: %v, %v", got, err)
	}
	if _, err := parse("soon"); err == nil || !strings.Contains(err.Error(), `"soon" is not a time; want now`) {
		t.Errorf("soon: %v", err)
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "2w": 2 * week, "1h30m": 90 * time.Minute, "1w2d12h": 9*day + 12*time.Hour,
		"30s": 30 * time.Second, "10 minutes": 10 * time.Minute,
		"36500d": maxDuration, "1 day 2 hours": 26 * time.Hour,
	} {
		got, err := ParseDuration(text)
		assert.Result(t, got, err, want, text)
	}
	for text, want := range map[string]string{
		"": "not a length of time such as 30m", "d": "not a length", "90": "not a length", "1.5d": "not a length",
		"-1d": "not a length", "+1d": "not a length",
		"0d": "not a length", "0": "not a length", "1M": "not a length", "ever": "not a length",
		"1 h  30m": "not a length",
		"36501d":   "longer than 100 years", "5215w": "longer than 100 years",
		"99999999999999999999d": "longer than 100 years", "2147483648w": "longer than 100 years",
		"9999999h": "longer than 100 years", "36500d1s": "longer than 100 years", "101y": "longer than 100 years",
		"1mo": "write days, such as 30d", "1y": "write days",
	} {
		if got, err := ParseDuration(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
}

func TestParseDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-01": "2026-11-01", "today": "2026-11-20", "monday": "2026-11-16", "yesterday": "2026-11-19",
		"7d": "2026-11-13", "7d ago": "2026-11-13", "now": "2026-11-20", "12h": "2026-11-19",
	} {
		if got, err := parseDay(text, testNow); err != nil || got.Format(time.RFC3339) != want+"T00:00:00Z" {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "2026-11-01T15:00Z", "2026-11", "monday 15:00"} {
		if got, err := parseDay(text, testNow); err == nil {
			t.Errorf("%q was taken for %v", text, got)
		}
	}
}

func TestMonthFlag(t *testing.T) {
	t.Parallel()
	f := &Factory{Clock: func() time.Time { return testNow.In(time.FixedZone("", 14*3600)) }}
	for text, want := range map[string]string{"": "2026-11", "2026-12": "2026-12", "2024-02": "2024-02"} {
		var month Period
		cmd := &cobra.Command{}
		MonthFlag(cmd, f, &month)
		if text != "" {
			assert.Equal(t, cmd.Flags().Set("month", text), nil)
		}
		if month.From.Format("2006-01") != want || !month.To.Equal(month.From.AddDate(0, 1, 0)) ||
			month.From.Day() != 1 {
			t.Errorf("%q: %v", text, month)
		}
	}
}
