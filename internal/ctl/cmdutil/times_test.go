package cmdutil

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
)

var testNow = time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)

func TestParseExpiry(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"": {}, "90d": testNow.AddDate(0, 0, 90), "2w": testNow.AddDate(0, 0, 14), "1h30m": testNow.Add(90 * time.Minute),
		"2027-01-01":                time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"2027-01-01T01:00:00+01:00": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"36500d":                    testNow.Add(maxDuration),
	} {
		if got, err := ParseExpiry(text, testNow); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"yesterday", "d", "1.5d", "-1d", "0d", "0s", "36501d", "5215w", "99999999999999999999d", "2147483648w",
		"2026-02-30", "2027-01-01 10:00", "1h 30m", "+", "90", "9999999h",
	} {
		if got, err := ParseExpiry(text, testNow); err == nil {
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
			if err := cmd.Flags().Set("month", text); err != nil {
				t.Error(err)
			}
		}
		if month.From.Format("2006-01") != want || !month.To.Equal(month.From.AddDate(0, 1, 0)) || month.From.Day() != 1 {
			t.Errorf("%q: %v", text, month)
		}
	}
}
