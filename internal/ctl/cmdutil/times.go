package cmdutil

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// MaxDays is the longest period of a report by day.
const MaxDays = 400

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
	ParsedFlag(cmd, month, "month", "", "UTC `MONTH` such as 2026-11 (default: this month)", parseMonth, latestMonths(now)...)
}

// ClosedMonthFlag adds --month to a command that refuses to run without it.
func ClosedMonthFlag(f *Factory, cmd *cobra.Command, month *Period) *cobra.Command {
	ParsedFlag(cmd, month, "month", "", "UTC `MONTH` that has ended, such as 2026-10", parseMonth, latestMonths(f.Now())[1:]...)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := RequireFlags(cmd, "month"); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// latestMonths are the present month and those of a year before it, the latest first.
func latestMonths(now time.Time) (months []string) {
	for i := range 13 {
		months = append(months, time.Date(now.Year(), now.Month()-time.Month(i), 1, 0, 0, 0, 0, time.UTC).Format("2006-01"))
	}
	return months
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

// PeriodFlags are the flags that set a period: --month, or --since with or without --until.
type PeriodFlags struct{ month, days Period }

// Add adds the flags.
func (p *PeriodFlags) Add(cmd *cobra.Command, f *Factory) {
	MonthFlag(cmd, f, &p.month)
	p.days.To = f.Now().Truncate(day).Add(day)
	dayFlag(cmd, f, &p.days.From, "since", "first `DAY`, such as 2026-11-01 or 7d (ago), instead\nof a month")
	dayFlag(cmd, f, &p.days.To, "until", "end before this `DAY` (default: tomorrow)")
}

// Period returns the period that the flags set.
func (p *PeriodFlags) Period(cmd *cobra.Command) (Period, error) {
	month, since, until := cmd.Flags().Changed("month"), cmd.Flags().Changed("since"), cmd.Flags().Changed("until")
	switch {
	case !since && !until:
		return p.month, nil
	case month:
		return Period{}, UsageErrorf("--month can't be used with --since or --until")
	case !since:
		return Period{}, UsageErrorf("--until requires --since")
	case !p.days.From.Before(p.days.To):
		return Period{}, UsageErrorf("--since %s is not before %s", p.days.From.Format(time.DateOnly), p.days.To.Format(time.DateOnly))
	case p.days.To.Sub(p.days.From) > MaxDays*day:
		return Period{}, UsageErrorf("the period is longer than %d days", MaxDays)
	}
	return p.days, nil
}

// dayFlag adds a flag whose value is a UTC day.
func dayFlag(cmd *cobra.Command, f *Factory, at *time.Time, name, usage string) {
	parse := func(text string) (time.Time, error) { return parseDay(text, f.Now()) }
	ParsedFlag(cmd, at, name, "", usage, parse, "today", "yesterday", "7d", "30d")
}

// parseDay reads a UTC day: a date, or the day of an instant that has no time of day of its own (yesterday, 7d).
func parseDay(text string, now time.Time) (time.Time, error) {
	w, err := parseWhen(text, now, true)
	if err != nil || !w.at.Equal(w.at.Truncate(day)) {
		return time.Time{}, fmt.Errorf("%q is not a day; want a date such as 2026-11-01, today, yesterday, or 7d for seven days ago", text)
	}
	return w.After(now).Truncate(day), nil
}
