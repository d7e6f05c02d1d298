package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
	// maxLength is the longest time that a flag may name: longer ones are typing errors.
	maxLength = 100 * 365 * day
)

// units are the steps in which relative speaks, the largest first.
var units = []struct {
	length time.Duration
	name   string
}{
	{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"},
}

// relative says how far a time is from now, in its largest whole unit.
func relative(t, now time.Time) string {
	d := t.Sub(now)
	for _, u := range units {
		n := int64(d.Abs() / u.length)
		if n == 0 {
			continue
		}
		amount := fmt.Sprintf("%d %s", n, u.name)
		if n > 1 {
			amount += "s"
		}
		if d > 0 {
			return "in " + amount
		}
		return amount + " ago"
	}
	if d > 0 {
		return "in a moment"
	}
	return "just now"
}

var errLength = errors.New("not a duration such as 30m, 12h, 90d or 2w")

// parseLength reads a length of time such as 90d, 2w, 1h or 1h30m, more than none and at most 100 years.
func parseLength(text string) (time.Duration, error) {
	length, err := time.ParseDuration(text)
	for suffix, unit := range map[string]time.Duration{"d": day, "w": week} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			var n int64
			n, err = strconv.ParseInt(number, 10, 32)
			if errors.Is(err, strconv.ErrRange) {
				// n is the nearest number that there is.
				err = nil
			}
			// The product of more may have another sign.
			length = time.Duration(min(max(n, 0), int64(maxLength/unit)+1)) * unit
		}
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is %w", text, errLength)
	case length <= 0:
		return 0, fmt.Errorf("%q is not a positive duration such as 30m, 12h, 90d or 2w", text)
	case length > maxLength:
		return 0, fmt.Errorf("%q is longer than 100 years", text)
	}
	return length, nil
}

// parseExpiry reads when a key ends: a length of time from now, a UTC date or an RFC 3339 time; "" for never.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	length, err := parseLength(text)
	if errors.Is(err, errLength) {
		return time.Time{}, fmt.Errorf("%w, a date such as 2027-01-01 or a time such as 2027-01-01T12:00:00Z", err)
	}
	return now.Add(length), err
}

// parseMonth returns the first instant of a UTC month, given as 2026-11, and of the next; "" for the current one.
func parseMonth(text string, now time.Time) (from, to time.Time, err error) {
	from = time.Date(now.UTC().Year(), now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	if text != "" {
		if from, err = time.Parse("2006-01", text); err != nil {
			return from, to, fmt.Errorf("%q is not a month such as 2026-11", text)
		}
	}
	return from, from.AddDate(0, 1, 0), nil
}
