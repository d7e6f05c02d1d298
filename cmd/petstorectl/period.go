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
	cmd.Flags().StringVar(&p.month, "month", "", "the `MONTH`, as 2026-11; this one when left out")
	cmd.Flags().StringVar(&p.from, "from", "", "the first `DAY`, as 2026-11-01, instead of a month")
	cmd.Flags().StringVar(&p.to, "to", "", "the last `DAY`, today when left out")
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
		return from, to, usageProblem("--month and --from exclude each other")
	case p.from == "":
		return from, to, usageProblem("--to needs --from")
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
		return from, to, usageProblem("that is more than %d days", maxDays)
	}
	return from, to, nil
}

func parseDay(text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		err = fmt.Errorf("%q is no day such as 2026-11-01", text)
	}
	return t, err
}
