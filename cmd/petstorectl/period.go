package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// maxDays is the longest period that is replayed at a time.
const maxDays = 400

// periodFlags say which UTC days are meant.
type periodFlags struct{ month, from, to string }

func addPeriodFlags(cmd *cobra.Command, p *periodFlags) {
	cmd.Flags().StringVar(&p.month, "month", "", "UTC `MONTH` such as 2026-11 (default: this month)")
	cmd.Flags().StringVar(&p.from, "from", "", "first `DAY`, such as 2026-11-01, instead of a month")
	cmd.Flags().StringVar(&p.to, "to", "", "last `DAY` (default: today)")
	for _, name := range []string{"month", "from", "to"} {
		completeFlag(cmd, name)
	}
}

// resolve returns the first instant of the period and the first one after it.
func (p periodFlags) resolve(now time.Time) (from, to time.Time, err error) {
	if p.from == "" && p.to == "" {
		if from, to, err = parseMonth(p.month, now); err != nil {
			err = usageProblem("--month: %v", err)
		}
		return from, to, err
	}
	switch {
	case p.month != "":
		return from, to, usageProblem("--month can't be used with --from or --to")
	case p.from == "":
		return from, to, usageProblem("--to requires --from")
	}
	if from, err = parseDay(p.from); err != nil {
		return from, to, usageProblem("--from: %v", err)
	}
	last := now.UTC().Truncate(day)
	if p.to != "" {
		if last, err = parseDay(p.to); err != nil {
			return from, to, usageProblem("--to: %v", err)
		}
	}
	to = last.AddDate(0, 0, 1)
	switch {
	case !from.Before(to):
		return from, to, usageProblem("--from %s is after %s", p.from, last.Format(time.DateOnly))
	case to.Sub(from) > maxDays*day:
		return from, to, usageProblem("the period is longer than %d days", maxDays)
	}
	return from, to, nil
}

func parseDay(text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		err = fmt.Errorf("%q is not a date such as 2026-11-01", text)
	}
	return t, err
}
