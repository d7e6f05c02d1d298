package cmdutil

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	whenForms = "now, tomorrow 14:00, tuesday, 14d, 48h, 1mo, a date such as 2026-12-01 or a time such as 2026-12-01 15:00, in UTC"
	pastForms = "now, today, yesterday 14:00, tuesday, 7d, 12h, 1mo, a date such as 2026-12-01 or a time such as 2026-12-01 15:00, in UTC"
)

// WhenHelp describes the instants that flags take, for the long help of a command.
const WhenHelp = `WHEN is "tomorrow 14:00", tuesday, a length of time from now (48h, 14d, 1mo), a
date such as 2026-12-01 (its midnight) or a time such as "2026-12-01 15:00", all
in UTC; see "petstorectl help times".`

// PastHelp is WhenHelp for flags that look back: those of PastFlag.
const PastHelp = `WHEN is "yesterday 14:00", tuesday, a length of time ago (12h, 7d, 1mo), a date
such as 2026-11-01 (its midnight) or a time such as "2026-11-01 15:00", all in
UTC; see "petstorectl help times".`

// When is an instant as staff write it. The zero value is a flag that was not given.
type When struct {
	text string
	// at is the instant, zero for one that is a length after another.
	at time.Time
	length
}

// ParseWhen reads an instant: now, a length of time from another instant (14d or +14d; -7d or 7d ago), or a day and a time, midnight
// without one. The day is today, tomorrow, yesterday, a weekday or a date. The time is that of RFC 3339, whose seconds may be omitted. All but
// times with an offset of their own are UTC.
func ParseWhen(text string, now time.Time) (When, error) {
	return parseWhen(text, now, false)
}

// ParsePast reads an instant as ParseWhen does, but a length of time without a sign is one ago, and a weekday the latest before today.
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

// dayAndTime is a day, and a time of that day.
var dayAndTime = regexp.MustCompile(`^(.*?)(?:[ t]([0-9][0-9]?:.*))?$`)

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

// parseDate returns the midnight at which a day begins. A weekday is the next one after today; with last, or if past is set, the latest one before.
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

// parseRelative reads a length of time from another instant.
func parseRelative(text string, lookBack bool) (When, error) {
	past := lookBack
	l, err := parseLength(cutDirection(text, &past))
	switch {
	case errors.Is(err, errTooLong):
		return When{}, fmt.Errorf("%q is %w", text, errTooLong)
	case err != nil && lookBack:
		return When{}, fmt.Errorf("%q is not a time; want %s", text, pastForms)
	case err != nil:
		return When{}, fmt.Errorf("%q is not a time; want %s", text, whenForms)
	case past:
		l = length{-l.months, -l.duration}
	}
	return When{text: text, length: l}, nil
}

// cutDirection returns a length without what says its direction, and sets the direction.
func cutDirection(text string, past *bool) string {
	for _, prefix := range []string{"+", "in "} {
		if number, ok := strings.CutPrefix(text, prefix); ok {
			*past = false
			return number
		}
	}
	number, before := strings.CutPrefix(text, "-")
	if !before {
		number, before = strings.CutSuffix(text, " ago")
	}
	*past = *past || before
	return number
}

// IsSet reports whether the flag was given.
func (w When) IsSet() bool { return w.text != "" }

// IsNow reports whether it is the present, whatever the clock shows when the change is made.
func (w When) IsNow() bool { return w.at.IsZero() && w.length == length{} }

// After returns the instant. A length counts from the anchor, to the whole second: instants are shown so.
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

// Until returns the function that returns the instant, nil for a flag that was not given.
func (w When) Until() func(from time.Time) time.Time {
	if !w.IsSet() {
		return nil
	}
	return w.After
}

// WhenFlag adds a flag whose value is an instant.
func WhenFlag(cmd *cobra.Command, f *Factory, w *When, name, usage string) {
	parse := func(text string) (When, error) { return ParseWhen(text, f.Now()) }
	ParsedFlag(cmd, w, name, "", usage, parse, "now", "tomorrow", "14d", "1mo")
}

// PastFlag adds a flag whose value is an instant that is probably past: a length of time is one ago.
func PastFlag(cmd *cobra.Command, f *Factory, at *time.Time, name, usage string) {
	parse := func(text string) (time.Time, error) { return ParsePast(text, f.Now()) }
	ParsedFlag(cmd, at, name, "", usage, parse, "today", "yesterday", "1h", "7d")
}

// ExpiresFlag adds --expires: an instant, or never, which is a pointer to the zero time. It is nil if the flag was not given, or is empty.
func ExpiresFlag(cmd *cobra.Command, f *Factory, at **time.Time, usage string) {
	ParsedFlag(cmd, at, "expires", "", usage, func(text string) (*time.Time, error) {
		switch text {
		case "":
			return nil, nil
		case "never":
			return &time.Time{}, nil
		}
		w, err := ParseWhen(text, f.Now())
		expires := w.After(f.Now())
		return &expires, err
	}, "30d", "90d", "1y", "never")
}

// EndFlags are the flags of a temporary assignment.
type EndFlags struct {
	until When
	Then  string
}

// Add adds the flags.
func (e *EndFlags) Add(cmd *cobra.Command, f *Factory) {
	WhenFlag(cmd, f, &e.until, "until", "end at `WHEN`; a length counts from the beginning")
	StringFlagFrom(cmd, &e.Then, "then", "the `PLAN` that follows at the end", PlanNames(f))
}

// Check returns a usage error for --then without --until.
func (e *EndFlags) Check() error {
	if e.Then != "" && !e.until.IsSet() {
		return UsageErrorf("--then requires --until")
	}
	return nil
}

// CheckTrial returns a usage error for one of the flags without the other: before a tenant there is nothing to go back to.
func (e *EndFlags) CheckTrial() error {
	if e.until.IsSet() && e.Then == "" {
		return UsageErrorf("--until requires --then, the plan that follows")
	}
	return e.Check()
}

// Until returns when an assignment ends that begins at an instant; nil if it lasts.
func (e *EndFlags) Until() func(from time.Time) time.Time { return e.until.Until() }
