package main

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

const (
	// maxReason is in code points. A ban's reason is sent to the customer with each refusal.
	maxReason = 500
	// standardLimit is how much a list prints when nobody says.
	standardLimit = 100
	maxLimit      = 10_000
)

// checkText refuses arguments that no database could hold, and those that hold a key, without repeating them: reasons and
// names are kept for ever and shown to others.
func checkText(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) || strings.ContainsRune(arg, 0) {
			return usageProblem("argument %d is not valid UTF-8 text", i+1)
		}
		if keys.CheckText(arg) != nil {
			return usageProblem("argument %d contains an API key; keys are read from stdin, never from the command line", i+1).
				withHint("the key is now in your shell history: consider revoking it; find its ID with: petstorectl key identify")
		}
	}
	return nil
}

// checkKeyID refuses what may be a key where its id is wanted, without repeating it.
func checkKeyID(id string) error {
	if strings.HasPrefix(id, "pst_") {
		return usageProblem("want the ID of a key (key_…), not the key").withHint(
			"find the ID with: petstorectl key identify")
	}
	return nil
}

func checkReason(reason string) error {
	if utf8.RuneCountInString(reason) > maxReason || strings.ContainsFunc(reason, unicode.IsControl) {
		return usageProblem("--reason must be one line of at most %d characters", maxReason)
	}
	return nil
}

func checkLimit(limit int) error {
	if limit < 1 || limit > maxLimit {
		return usageProblem("--limit must be from 1 to %d, not %d", maxLimit, limit)
	}
	return nil
}

// quotaFlags is the pair of flags that sets a tenant's own numbers.
type quotaFlags struct{ perMinute, perDay int64 }

func addQuotaFlags(cmd *cobra.Command, q *quotaFlags) {
	cmd.Flags().Int64Var(&q.perMinute, "per-minute", 0, "the tenant's quota: `N` requests per minute (enterprise)")
	cmd.Flags().Int64Var(&q.perDay, "per-day", 0, "the tenant's quota: `N` requests per UTC day (enterprise)")
	completeFlag(cmd, "per-minute")
	completeFlag(cmd, "per-day")
}

// resolve returns nil when neither flag was given.
func (q quotaFlags) resolve(cmd *cobra.Command) (*plans.Quota, error) {
	minute, day := cmd.Flags().Changed("per-minute"), cmd.Flags().Changed("per-day")
	if !minute && !day {
		return nil, nil
	}
	if !minute || !day {
		return nil, usageProblem("--per-minute and --per-day must be given together")
	}
	own := &plans.Quota{PerMinute: q.perMinute, PerDay: q.perDay}
	if err := own.Validate(); err != nil {
		return nil, usageProblem("%v", err)
	}
	return own, nil
}

func addLimitFlag(cmd *cobra.Command, limit *int, standard int) {
	cmd.Flags().IntVarP(limit, "limit", "L", standard, "print at most `N` rows")
	completeFlag(cmd, "limit")
}
