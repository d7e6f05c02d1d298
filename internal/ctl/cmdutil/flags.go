package cmdutil

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

const (
	// maxReason is in code points. The reason of a ban is shown to the tenant with each refusal.
	maxReason = 500
	// DefaultLimit is how many rows a list prints without --limit.
	DefaultLimit = 100
	// MaxLimit is the most that --limit may be.
	MaxLimit = 10_000
)

// SharedFlags are the values of flags that several commands have.
type SharedFlags struct {
	Output string
	Yes    bool
	DryRun bool
	Reason string
}

// ReadCommand adds what a command needs that reads the database: its arguments, --output and --database-url.
func (f *Factory) ReadCommand(cmd *cobra.Command, args ...Arg) *cobra.Command {
	f.OutputFlag(cmd)
	return DatabaseCommand(f, cmd, args...)
}

// DatabaseCommand adds the arguments and --database-url, for a command that has formats of its own.
func DatabaseCommand(f *Factory, cmd *cobra.Command, args ...Arg) *cobra.Command {
	SetArgs(cmd, args...)
	cmd.Flags().StringVar(&f.DatabaseURL, "database-url", "", "`URL` of the Postgres database")
	CompleteFlag(cmd, "database-url")
	return cmd
}

// ChangeCommand adds what a command needs that makes an audited change: as ReadCommand, and --dry-run and --reason.
func (f *Factory) ChangeCommand(cmd *cobra.Command, args ...Arg) *cobra.Command {
	f.ReadCommand(cmd, args...)
	f.ChangeFlags(cmd)
	return cmd
}

// ChangeFlags adds --dry-run and --reason.
func (f *SharedFlags) ChangeFlags(cmd *cobra.Command) {
	f.DryRunFlag(cmd)
	cmd.Flags().StringVar(&f.Reason, "reason", "", "why: `TEXT` for the audit trail (no personal data)")
	CompleteFlag(cmd, "reason")
}

// OutputFlag adds --output.
func (f *SharedFlags) OutputFlag(cmd *cobra.Command) {
	EnumFlag(cmd, &f.Output, "output", "o", "output `FORMAT`: table, json or csv", "table", "json", "csv")
}

// DryRunFlag adds --dry-run.
func (f *SharedFlags) DryRunFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "show the result of the change without making it")
}

// YesFlag adds --yes, for a command that calls Confirm.
func (f *SharedFlags) YesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Yes, "yes", false, "skip the confirmation")
}

// ParsedFlag adds a flag whose value is parsed by a function. The error of parse says what is wrong with the value.
func ParsedFlag[T any](cmd *cobra.Command, value *T, name, shorthand, usage string, parse func(string) (T, error), completions ...string) {
	cmd.Flags().FuncP(name, shorthand, usage, func(text string) (err error) {
		*value, err = parse(text)
		return err
	})
	CompleteFlag(cmd, name, completions...)
}

// TextFlag adds a flag whose value is a text of at most that many characters, which others are shown.
func TextFlag(cmd *cobra.Command, value *string, name, usage string, most int) {
	ParsedFlag(cmd, value, name, "", usage, func(text string) (string, error) {
		if utf8.RuneCountInString(text) > most {
			return "", fmt.Errorf("must have at most %d characters", most)
		}
		return text, keys.CheckText(text)
	})
}

// EnumFlag adds a flag that takes one of a few values.
func EnumFlag[T ~string](cmd *cobra.Command, value *T, name, shorthand, usage string, values ...T) {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	ParsedFlag(cmd, value, name, shorthand, usage, func(text string) (T, error) {
		if !slices.Contains(names, text) {
			last := len(names) - 1
			return "", fmt.Errorf("want %s or %s, not %q", strings.Join(names[:last], ", "), names[last], text)
		}
		return T(text), nil
	}, names...)
}

// LimitFlag adds --limit, which bounds the rows that are printed.
func LimitFlag(cmd *cobra.Command, limit *int, standard int) {
	*limit = standard
	ParsedFlag(cmd, limit, "limit", "L", fmt.Sprintf("print at most `N` rows (default %d)", standard), func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err == nil && (n < 1 || n > MaxLimit) {
			err = fmt.Errorf("must be from 1 to %d, not %d", MaxLimit, n)
		}
		return n, err
	})
}

// NumberFlag adds a flag whose value is a number of requests, at least 1.
func NumberFlag(cmd *cobra.Command, n *int64, name, usage string) {
	ParsedFlag(cmd, n, name, "", usage, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%q is not a whole number of at least 1", text)
		}
		return n, nil
	})
}

// QuotaFlags are the two flags that set the quota of a tenant on the enterprise plan.
type QuotaFlags struct{ perMinute, perDay int64 }

// Add adds the flags.
func (q *QuotaFlags) Add(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&q.perMinute, "per-minute", 0, "quota of `N` requests per minute (enterprise plan)")
	cmd.Flags().Int64Var(&q.perDay, "per-day", 0, "quota of `N` requests per UTC day (enterprise plan)")
	CompleteFlag(cmd, "per-minute")
	CompleteFlag(cmd, "per-day")
}

// Quota returns nil if neither flag was given.
func (q *QuotaFlags) Quota(cmd *cobra.Command) (*plans.Quota, error) {
	minute, day := cmd.Flags().Changed("per-minute"), cmd.Flags().Changed("per-day")
	if !minute && !day {
		return nil, nil
	}
	if !minute || !day {
		return nil, UsageErrorf("--per-minute and --per-day must be given together")
	}
	quota := &plans.Quota{PerMinute: q.perMinute, PerDay: q.perDay}
	if err := quota.Validate(); err != nil {
		return nil, UsageErrorf("%v", err)
	}
	return quota, nil
}

func checkReason(reason string) error {
	if utf8.RuneCountInString(reason) > maxReason {
		return UsageErrorf("--reason must have at most %d characters", maxReason)
	}
	if err := keys.CheckText(reason); err != nil {
		return UsageErrorf("--reason: %v", err)
	}
	return nil
}
