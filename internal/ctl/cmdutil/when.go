package cmdutil

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	whenForms   = "now, tomorrow, +14d, +48h, +2w, +1mo, a UTC date such as 2026-12-01 or a time such as 2026-12-01T15:00Z"
	lengthForms = "48h, 14d, 2w or 1mo"
	// maxMonths is as long as maxDuration.
	maxMonths = 100 * 12
)

// When is an instant as staff write it. The zero value is a flag that was not given.
type When struct {
	text string
	// at is the instant, zero for one that is a length after another: months first, then the duration.
	at       time.Time
	months   int
	duration time.Duration
}

// ParseWhen reads an instant: now, tomorrow (the next midnight), a length of time from another instant (+14d, +48h, +2w, +1mo), a date
// (its midnight) or an RFC 3339 time, whose seconds may be omitted. All but times with an offset of their own are UTC.
func ParseWhen(text string, now time.Time) (When, error) {
	switch length, isLength := strings.CutPrefix(text, "+"); {
	case text == "now":
		return When{text: text}, nil
	case text == "tomorrow":
		return When{text: text, at: now.UTC().Truncate(day).Add(day)}, nil
	case isLength:
		return ParseLength(length)
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02T15:04Z07:00"} {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if at = at.UTC().Truncate(time.Microsecond); at.Before(now.Add(-maxDuration)) || at.After(now.Add(maxDuration)) {
			return When{}, fmt.Errorf("%q is more than 100 years from now", text)
		}
		return When{text: text, at: at}, nil
	}
	if _, err := time.Parse("2006-01-02T15:04", text); err == nil {
		return When{}, fmt.Errorf("%q has no time zone: write %sZ for UTC", text, text)
	}
	return When{}, fmt.Errorf("%q is not a time; want %s", text, whenForms)
}

// ParseLength reads a length of time: 48h, 14d, 2w, or months (1mo).
func ParseLength(text string) (When, error) {
	w := When{text: "+" + text}
	var err error
	if number, ok := strings.CutSuffix(text, "mo"); ok {
		if w.months, err = strconv.Atoi(number); err != nil || w.months < 1 || w.months > maxMonths || strings.HasPrefix(text, "+") {
			return When{}, fmt.Errorf("%q is not a number of months from 1mo to %dmo", text, maxMonths)
		}
		return w, nil
	}
	if w.duration, err = ParseDuration(text); err != nil || strings.HasPrefix(text, "+") {
		return When{}, fmt.Errorf("%q is not a length of time such as %s", text, lengthForms)
	}
	return w, nil
}

// IsSet reports whether the flag was given.
func (w When) IsSet() bool { return w.text != "" }

// IsNow reports whether it is the present, whatever the clock shows when the change is made.
func (w When) IsNow() bool { return w.at.IsZero() && w.months == 0 && w.duration == 0 }

// After returns the instant. A length counts from the anchor, to the whole second: instants are shown so. Months keep the anchor's day and time of day, and end on the month's last
// day where it has no such day: one month after 31 January is 28 February, two months after it 31 March.
func (w When) After(anchor time.Time) time.Time {
	anchor = anchor.UTC()
	switch {
	case !w.at.IsZero():
		return w.at
	case w.IsNow():
		return anchor
	}
	end := anchor.AddDate(0, w.months, 0)
	if end.Day() != anchor.Day() {
		end = end.AddDate(0, 0, -end.Day())
	}
	return end.Add(w.duration).Truncate(time.Second)
}

// WhenFlag adds a flag whose value is an instant.
func WhenFlag(cmd *cobra.Command, f *Factory, w *When, name, usage string) {
	parse := func(text string) (When, error) { return ParseWhen(text, f.Now()) }
	ParsedFlag(cmd, w, name, "", usage, parse, "now", "tomorrow", "+14d", "+1mo")
}

// LengthFlag adds a flag whose value is a length of time.
func LengthFlag(cmd *cobra.Command, w *When, name, usage string) {
	ParsedFlag(cmd, w, name, "", usage, ParseLength, "48h", "7d", "14d", "1mo")
}

// EndFlags are the flags of a temporary assignment.
type EndFlags struct {
	until When
	Then  string
}

// Add adds the flags.
func (e *EndFlags) Add(cmd *cobra.Command, f *Factory) {
	WhenFlag(cmd, f, &e.until, "until", "end at `WHEN`; a length counts from the beginning")
	cmd.Flags().StringVar(&e.Then, "then", "", "the `PLAN` that follows at the end")
	CompleteFlagFrom(cmd, "then", PlanNames(f))
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

// Until returns the function that returns the instant, nil for a flag that was not given.
func (w When) Until() func(from time.Time) time.Time {
	if !w.IsSet() {
		return nil
	}
	return w.After
}

// WhenHelp describes the instants that flags take, for the long help of a command.
const WhenHelp = `WHEN is now, tomorrow, a time from now (+48h, +14d, +2w, +1mo), a date such as
2026-12-01 or a time such as 2026-12-01T15:00Z, in UTC. A date and tomorrow mean
midnight. One month after 31 January is the last day of February.`
