package cmdutil

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
	// maxDuration is the longest duration that a flag may have: longer ones are typing errors.
	maxDuration = 100 * 365 * day
	// MaxDays is the longest period of a report by day.
	MaxDays = 400
)

var errDuration = errors.New("not a duration such as 30m, 12h, 90d or 2w")

// ParseDuration reads a duration such as 90d, 2w, 1h or 1h30m, more than zero and at most 100 years.
func ParseDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	for suffix, unit := range map[string]time.Duration{"d": day, "w": week} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			var n int64
			n, err = strconv.ParseInt(number, 10, 32)
			if errors.Is(err, strconv.ErrRange) {
				// n is the nearest number in range.
				err = nil
			}
			// The product of a larger number may have another sign.
			duration = time.Duration(min(max(n, 0), int64(maxDuration/unit)+1)) * unit
		}
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is %w", text, errDuration)
	case duration <= 0:
		return 0, fmt.Errorf("%q is not a positive duration such as 30m, 12h, 90d or 2w", text)
	case duration > maxDuration:
		return 0, fmt.Errorf("%q is longer than 100 years", text)
	}
	return duration, nil
}

// ParseExpiry reads when a key expires: a duration from now, a UTC date or an RFC 3339 time; "" for never.
func ParseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	duration, err := ParseDuration(text)
	if errors.Is(err, errDuration) {
		return time.Time{}, fmt.Errorf("%w, a date such as 2027-01-01 or a time such as 2027-01-01T12:00:00Z", err)
	}
	return now.Add(duration), err
}

// Period is a period of whole UTC days: its first instant and the first instant after it.
type Period struct{ From, To time.Time }

// Days is the first and the last day in words.
func (p Period) Days() string {
	return p.From.Format(time.DateOnly) + " to " + p.To.AddDate(0, 0, -1).Format(time.DateOnly)
}

// MonthFlag adds --month. The default is the current UTC month.
func MonthFlag(cmd *cobra.Command, f *Factory, month *Period) {
	now := f.Now()
	*month = monthFrom(time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC))
	ParsedFlag(cmd, month, "month", "", "UTC `MONTH` such as 2026-11 (default: this month)", parseMonth)
}

// MonthArg is the argument MONTH, a UTC month.
func MonthArg(text *string, month *Period) Arg {
	return Arg{Name: "MONTH", Value: text, Check: func(given string) (err error) {
		if *month, err = parseMonth(given); err != nil {
			return UsageErrorf("%v", err)
		}
		return nil
	}}
}

func parseMonth(text string) (Period, error) {
	first, err := time.Parse("2006-01", text)
	if err != nil {
		return Period{}, fmt.Errorf("%q is not a month such as 2026-11", text)
	}
	return monthFrom(first), nil
}

// Month is the name of the period's first month.
func (p Period) Month() string { return p.From.Format("2006-01") }

func monthFrom(first time.Time) Period { return Period{first, first.AddDate(0, 1, 0)} }

// PeriodFlags are the flags that set a period: --month, or --from with or without --to.
type PeriodFlags struct {
	month    Period
	from, to time.Time
}

// Add adds the flags.
func (p *PeriodFlags) Add(cmd *cobra.Command, f *Factory) {
	MonthFlag(cmd, f, &p.month)
	p.to = f.Now().Truncate(day)
	ParsedFlag(cmd, &p.from, "from", "", "first `DAY`, such as 2026-11-01, instead of a month", parseDay)
	ParsedFlag(cmd, &p.to, "to", "", "last `DAY` (default: today)", parseDay)
}

// Period returns the period that the flags set.
func (p *PeriodFlags) Period(cmd *cobra.Command) (Period, error) {
	month, from, to := cmd.Flags().Changed("month"), cmd.Flags().Changed("from"), cmd.Flags().Changed("to")
	period := Period{p.from, p.to.AddDate(0, 0, 1)}
	switch {
	case !from && !to:
		return p.month, nil
	case month:
		return Period{}, UsageErrorf("--month can't be used with --from or --to")
	case !from:
		return Period{}, UsageErrorf("--to requires --from")
	case !period.From.Before(period.To):
		return Period{}, UsageErrorf("--from %s is after %s", p.from.Format(time.DateOnly), p.to.Format(time.DateOnly))
	case period.To.Sub(period.From) > MaxDays*day:
		return Period{}, UsageErrorf("the period is longer than %d days", MaxDays)
	}
	return period, nil
}

func parseDay(text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		err = fmt.Errorf("%q is not a date such as 2026-11-01", text)
	}
	return t, err
}
