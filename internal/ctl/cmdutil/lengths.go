package cmdutil

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
	// maxDuration is the longest length of time that a flag may have: longer ones are typing errors.
	maxDuration = 100 * 365 * day
	// maxMonths is as long as maxDuration.
	maxMonths = 100 * 12

	lengthForms = "30m, 48h, 14d, 2w, 1mo or 1y"
)

// length is a length of time: months, which differ in days, and a duration.
type length struct {
	months   int
	duration time.Duration
}

var errTooLong = errors.New("longer than 100 years")

var (
	lengthPart = regexp.MustCompile(`^([0-9]+) ?([a-z]+) ?`)
	// lengthUnits are the units of lengths. The unit m is a minute, as in Go and Postgres.
	lengthUnits = map[string]length{
		"s": {0, time.Second}, "second": {0, time.Second}, "seconds": {0, time.Second},
		"m": {0, time.Minute}, "min": {0, time.Minute}, "minute": {0, time.Minute}, "minutes": {0, time.Minute},
		"h": {0, time.Hour}, "hour": {0, time.Hour}, "hours": {0, time.Hour},
		"d": {0, day}, "day": {0, day}, "days": {0, day},
		"w": {0, week}, "week": {0, week}, "weeks": {0, week},
		"mo": {1, 0}, "month": {1, 0}, "months": {1, 0},
		"y": {12, 0}, "year": {12, 0}, "years": {12, 0},
	}
)

// parseLength reads a length of time of more than zero and at most 100 years: a number and a unit, once or more often.
func parseLength(text string) (length, error) {
	var sum length
	for rest := text; rest != ""; {
		part := lengthPart.FindStringSubmatch(rest)
		if part == nil {
			return length{}, notLength(text)
		}
		unit, ok := lengthUnits[part[2]]
		if !ok {
			return length{}, notLength(text)
		}
		// Of a number that is out of range, n is the nearest number in range: that is too long too.
		n, _ := strconv.ParseInt(part[1], 10, 32)
		if unit.months > 0 {
			sum.months += int(min(n, maxMonths+1)) * unit.months
		} else {
			// The product of a larger number may have another sign.
			sum.duration += time.Duration(min(n, int64(maxDuration/unit.duration)+1)) * unit.duration
		}
		if sum.duration > maxDuration || sum.months > maxMonths {
			return length{}, fmt.Errorf("%q is %w", text, errTooLong)
		}
		rest = rest[len(part[0]):]
	}
	if sum == (length{}) {
		return length{}, notLength(text)
	}
	return sum, nil
}

func notLength(text string) error {
	return fmt.Errorf("%q is not a length of time such as %s", text, lengthForms)
}

// after returns the instant that is the length after another. Months keep the day and the time of day, and end on the month's last day
// where it has no such day: one month after 31 January is 28 February, two months after it 31 March.
func (l length) after(anchor time.Time) time.Time {
	end := anchor.AddDate(0, l.months, 0)
	if end.Day() != anchor.Day() {
		end = end.AddDate(0, 0, -end.Day())
	}
	return end.Add(l.duration)
}

// ParseLength reads a length of time such as 48h, 14d, 2w, 1mo or 1y: an instant that is this long after another.
func ParseLength(text string) (When, error) {
	l, err := parseLength(text)
	if err != nil {
		return When{}, err
	}
	return When{text: text, length: l}, nil
}

// ParseDuration reads a length of time that is the same from any instant on, such as 30m, 48h, 14d or 2w, but no months.
func ParseDuration(text string) (time.Duration, error) {
	l, err := parseLength(text)
	if err == nil && l.months > 0 {
		return 0, fmt.Errorf("%q has months, which differ in length: write days, such as 30d", text)
	}
	return l.duration, err
}

// LengthFlag adds a flag whose value is a length of time.
func LengthFlag(cmd *cobra.Command, w *When, name, usage string) {
	ParsedFlag(cmd, w, name, "", usage, ParseLength, "48h", "7d", "14d", "1mo")
}
