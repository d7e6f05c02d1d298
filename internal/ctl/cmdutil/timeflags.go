package cmdutil

import (
	"time"

	"github.com/spf13/cobra"
)

// WhenFlag adds a flag whose value is an instant.
func WhenFlag(cmd *cobra.Command, f *Factory, w *When, name, usage string) {
	parse := func(text string) (When, error) { return ParseWhen(text, f.Now()) }
	ParsedFlag(cmd, w, name, "", usage, parse, "now", "tomorrow", "14d", "1mo")
}

// PastFlag adds a flag whose value is an instant, probably a past one: a length of time counts back
// from now.
func PastFlag(cmd *cobra.Command, f *Factory, at *time.Time, name, usage string) {
	parse := func(text string) (time.Time, error) { return ParsePast(text, f.Now()) }
	ParsedFlag(cmd, at, name, "", usage, parse, "today", "yesterday", "1h", "7d")
}

// ExpiresFlag adds --expires: an instant, or never, which is a pointer to the zero time. If the
// flag is missing or empty, the pointer is nil.
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
	StringFlagFrom(cmd, &e.Then, "then", "the `PLAN` that follows at the end", PlanNames(f))
}

// Check returns a usage error for --then without --until.
func (e *EndFlags) Check() error {
	if e.Then != "" && !e.until.IsSet() {
		return UsageErrorf("--then requires --until")
	}
	return nil
}

// CheckTrial returns a usage error for one of the flags without the other: a new tenant has no plan
// to go back to.
func (e *EndFlags) CheckTrial() error {
	if e.until.IsSet() && e.Then == "" {
		return UsageErrorf("--until requires --then, the plan that follows")
	}
	return e.Check()
}

// Until returns the function from the beginning of an assignment to its end; nil if it lasts.
func (e *EndFlags) Until() func(from time.Time) time.Time { return e.until.Until() }

// MonthFlag adds --month. The default is the current UTC month.
func MonthFlag(cmd *cobra.Command, f *Factory, month *Period) {
	months := latestMonths(f.Now())
	*month, _ = parseMonth(months[0])
	ParsedFlag(cmd, month, "month", "", "UTC `MONTH` such as 2026-11 (default: this month)", parseMonth, months...)
}

// ClosedMonthFlag adds --month to a command that refuses to run without it.
func ClosedMonthFlag(f *Factory, cmd *cobra.Command, month *Period) *cobra.Command {
	ParsedFlag(
		cmd,
		month,
		"month",
		"",
		"UTC `MONTH` that has ended, such as 2026-10",
		parseMonth,
		latestMonths(f.Now())[1:]...)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := RequireFlags(cmd, "month"); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// latestMonths are the present month and those of the year before it, the latest first.
func latestMonths(now time.Time) (months []string) {
	for i := range 13 {
		months = append(
			months,
			time.Date(now.Year(), now.Month()-time.Month(i), 1, 0, 0, 0, 0, time.UTC).Format("2006-01"),
		)
	}
	return months
}

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
		return Period{}, UsageErrorf(
			"--since %s is not before %s",
			p.days.From.Format(time.DateOnly),
			p.days.To.Format(time.DateOnly),
		)
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
