package cmdutil

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
	// maxDuration and maxMonths are the longest length of time that a flag may have. Longer ones
	// are typing errors.
	maxDuration = 100 * 365 * day
	maxMonths   = 100 * 12

	lengthForms = "30m, 48h, 14d, 2w, 1mo or 1y"
	dateForms   = "a date such as 2026-12-01 or a time such as 2026-12-01 15:00, in UTC"
	whenForms   = "now, tomorrow 14:00, tuesday, 14d, 48h, 1mo, " + dateForms
	pastForms   = "now, today, yesterday 14:00, tuesday, 7d, 12h, 1mo, " + dateForms
)

// WhenHelp describes the instants that flags take, for the long help of a command.
const WhenHelp = `WHEN is "tomorrow 14:00", tuesday, a length of time from now (48h, 14d, 1mo), a
date such as 2026-12-01 (its midnight) or a time such as "2026-12-01 15:00", all
in UTC; see "petstorectl help times".`

// PastHelp is WhenHelp for the flags of PastFlag, which look back.
const PastHelp = `WHEN is "yesterday 14:00", tuesday, a length of time ago (12h, 7d, 1mo), a date
such as 2026-11-01 (its midnight) or a time such as "2026-11-01 15:00", all in
UTC; see "petstorectl help times".`

// length is a length of time: a number of months, which differ in days, and a duration.
type length struct {
	months   int
	duration time.Duration
}

var (
	errTooLong = errors.New("longer than 100 years")

	lengthPart = regexp.MustCompile(`^([0-9]+) ?([a-z]+) ?`)
	// lengthUnits are the units of lengths, whose plurals have an s. The unit m is a minute, as in
	// Go and Postgres.
	lengthUnits = map[string]length{
		"s": {
			0,
			time.Second,
		},
		"second": {0, time.Second},
		"m":      {0, time.Minute},
		"min":    {0, time.Minute},
		"minute": {0, time.Minute},
		"h":      {0, time.Hour},
		"hour":   {0, time.Hour},
		"d":      {0, day},
		"day":    {0, day},
		"w":      {0, week},
		"week":   {0, week},
		"mo":     {1, 0},
		"month":  {1, 0},
		"y":      {12, 0},
		"year":   {12, 0},
	}
)

// parseLength reads a length of time above zero and up to 100 years: a number and a unit, once or
// more.
func parseLength(text string) (sum length, err error) {
	for rest := text; rest != ""; {
		part := lengthPart.FindStringSubmatch(rest)
		if part == nil {
			return length{}, notLength(text)
		}
		name := part[2]
		if len(name) > len("mos") {
			name = strings.TrimSuffix(name, "s")
		}
		unit, ok := lengthUnits[name]
		if !ok {
			return length{}, notLength(text)
		}
		n, err := strconv.ParseInt(part[1], 10, 64)
		if err != nil || unit.months > 0 && n > maxMonths || unit.months == 0 && n > int64(maxDuration/unit.duration) {
			return length{}, fmt.Errorf("%q is %w", text, errTooLong)
		}
		sum.months += int(n) * unit.months
		if sum.duration += time.Duration(n) * unit.duration; sum.duration > maxDuration || sum.months > maxMonths {
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

// after returns the instant that is the length after anchor. Months keep the day and the time of
// day. If a month has no such day, it is the month's last: one month after 31 January is 28
// February, two months after it 31 March.
func (l length) after(anchor time.Time) time.Time {
	end := anchor.AddDate(0, l.months, 0)
	if end.Day() != anchor.Day() {
		end = end.AddDate(0, 0, -end.Day())
	}
	return end.Add(l.duration)
}

// ParseLength reads a length of time such as 48h, 14d, 2w, 1mo or 1y, as an instant that is this
// long after another.
func ParseLength(text string) (When, error) {
	l, err := parseLength(text)
	if err != nil {
		return When{}, err
	}
	return When{text: text, length: l}, nil
}

// ParseDuration reads a length of time that is the same from any instant on, such as 30m, 48h, 14d
// or 2w, but not months.
func ParseDuration(text string) (time.Duration, error) {
	l, err := parseLength(text)
	if err == nil && l.months > 0 {
		return 0, fmt.Errorf("%q has months, which differ in length: write days, such as 30d", text)
	}
	return l.duration, err
}

// When is an instant as staff write it. The zero value is a flag that was not given.
type When struct {
	text string
	// at is the instant, zero if it is a length after another.
	at time.Time
	length
}

// ParseWhen reads an instant: now, a length of time from another instant (14d or +14d; -7d or 7d
// ago), or a day and a time, midnight by default. The day is today, tomorrow, yesterday, a weekday
// or a date. The time has the form of RFC 3339, and its seconds may be omitted. Times without an
// offset are UTC.
func ParseWhen(text string, now time.Time) (When, error) { return parseWhen(text, now, false) }

// ParsePast reads an instant as ParseWhen does, but a length of time without a sign counts back,
// and a weekday is the latest before today.
func ParsePast(text string, now time.Time) (time.Time, error) {
	w, err := parseWhen(text, now, true)
	if err != nil {
		return time.Time{}, err
	}
	at := w.After(now)
	if at.After(now) && w.length != (length{}) {
		return time.Time{}, fmt.Errorf("%q is in the future: want a time ago, such as 7d", text)
	}
	return at, nil
}

var (
	// dayAndTime is a day, and a time of that day.
	dayAndTime = regexp.MustCompile(`^(.*?)(?:[ t]([0-9][0-9]?:.*))?$`)
	// relative is a length from another instant, with its direction.
	relative = regexp.MustCompile(`^(\+|in |-)?(.*?)( ago)?$`)
)

func parseWhen(text string, now time.Time, past bool) (When, error) {
	lower := strings.ToLower(text)
	if lower == "now" {
		return When{text: text}, nil
	}
	parts := dayAndTime.FindStringSubmatch(lower)
	at, ok := parseDate(parts[1], now.UTC().Truncate(day), past)
	if ok && parts[2] != "" {
		at, ok = timeOn(at, strings.ToUpper(parts[2]))
	}
	if !ok {
		return parseRelative(text, past)
	}
	if at.Before(now.Add(-maxDuration)) || at.After(now.Add(maxDuration)) {
		return When{}, fmt.Errorf("%q is more than 100 years from now", text)
	}
	return When{text: text, at: at}, nil
}

// parseDate returns the midnight at which a day begins. A weekday is the next one after today. With
// last, or if past is set, it is the latest one before today.
func parseDate(text string, today time.Time, past bool) (time.Time, bool) {
	if days, ok := map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}[text]; ok {
		return today.AddDate(0, 0, days), true
	}
	name, last := strings.CutPrefix(text, "last ")
	name, next := strings.CutPrefix(name, "next ")
	step := 1
	if last || past && !next {
		step = -1
	}
	for n := 1; n <= 7; n++ {
		at := today.AddDate(0, 0, n*step)
		if weekday := strings.ToLower(at.Weekday().String()); name == weekday || name == weekday[:3] {
			return at, true
		}
	}
	at, err := time.Parse(time.DateOnly, text)
	return at, err == nil
}

// timeOn returns the time of a day.
func timeOn(midnight time.Time, text string) (time.Time, bool) {
	for _, layout := range []string{"15:04", "15:04:05", "15:04Z07:00", "15:04:05Z07:00"} {
		if at, err := time.Parse(time.DateOnly+"T"+layout, midnight.Format(time.DateOnly)+"T"+text); err == nil {
			return at.UTC().Truncate(time.Microsecond), true
		}
	}
	return time.Time{}, false
}

// parseRelative reads a length of time from another instant. Without a direction it counts back if
// past is set.
func parseRelative(text string, past bool) (When, error) {
	forms := whenForms
	if past {
		forms = pastForms
	}
	parts := relative.FindStringSubmatch(text)
	l, err := parseLength(parts[2])
	switch {
	case errors.Is(err, errTooLong):
		return When{}, fmt.Errorf("%q is %w", text, errTooLong)
	case err != nil || parts[1] != "" && parts[3] != "":
		return When{}, fmt.Errorf("%q is not a time; want %s", text, forms)
	case parts[1] == "-" || parts[3] != "" || past && parts[1] == "":
		l = length{-l.months, -l.duration}
	}
	return When{text: text, length: l}, nil
}

// IsSet reports whether the flag was given.
func (w When) IsSet() bool { return w.text != "" }

// IsNow reports whether the instant is now, whenever the change is made.
func (w When) IsNow() bool { return w.at.IsZero() && w.length == length{} }

// After returns the instant. A length counts from the anchor, and the result is cut to the whole
// second, because instants are shown without fractions.
func (w When) After(anchor time.Time) time.Time {
	anchor = anchor.UTC()
	switch {
	case !w.at.IsZero():
		return w.at
	case w.IsNow():
		return anchor
	}
	return w.length.after(anchor).Truncate(time.Second)
}

// Until returns After, or nil if the flag was not given.
func (w When) Until() func(from time.Time) time.Time {
	if !w.IsSet() {
		return nil
	}
	return w.After
}

// parseDay reads a UTC day: a date, or the day of an instant that has no time of day (yesterday,
// 7d).
func parseDay(text string, now time.Time) (time.Time, error) {
	w, err := parseWhen(text, now, true)
	if err != nil || !w.at.Equal(w.at.Truncate(day)) {
		return time.Time{}, fmt.Errorf(
			"%q is not a day; want a date such as 2026-11-01, today, yesterday, or 7d for seven days ago",
			text,
		)
	}
	return w.After(now).Truncate(day), nil
}

// MaxDays is the longest period of a report by day.
const MaxDays = 400

// Period is a period of whole UTC days: its first instant and the first instant after it.
type Period struct{ From, To time.Time }

// Days is the first and the last day in words.
func (p Period) Days() string {
	return p.From.Format(time.DateOnly) + " to " + p.To.AddDate(0, 0, -1).Format(time.DateOnly)
}

// Month is the name of the period's first month.
func (p Period) Month() string { return p.From.Format("2006-01") }

func parseMonth(text string) (Period, error) {
	first, err := time.Parse("2006-01", text)
	if err != nil {
		return Period{}, fmt.Errorf("%q is not a month such as 2026-11", text)
	}
	return Period{first, first.AddDate(0, 1, 0)}, nil
}
