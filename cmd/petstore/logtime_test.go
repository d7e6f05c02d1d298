package main

import (
	"testing"
	"time"
)

func TestStamp(t *testing.T) {
	t.Parallel()
	s := &stamp{}
	east := time.FixedZone("", 5*3600+30*60)
	for _, now := range []time.Time{
		time.Date(2026, time.November, 20, 9, 21, 48, 0, time.UTC),
		time.Date(2026, time.November, 20, 9, 21, 48, 7_999_999, time.UTC),
		time.Date(2026, time.November, 20, 9, 21, 49, 999_999_999, time.UTC),
		time.Date(2026, time.November, 20, 9, 21, 48, 120_000_000, east),
		time.Date(1969, time.December, 31, 23, 59, 59, 45_000_000, time.UTC),
	} {
		want := now.Format(`"2006-01-02T15:04:05.000Z07:00"`)
		if got := string(s.append(nil, now)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
