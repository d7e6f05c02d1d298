package cmdutil

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"petstore.example/internal/ctl/output"
	"petstore.example/internal/envvars"
	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
)

// maxReason is in code points. The reason of a ban is shown to the tenant with each refusal.
const maxReason = 500

// SharedFlags are the values of flags that several commands have.
type SharedFlags struct {
	Output  string
	columns []string
	filter  *output.Filter
	zone    *time.Location
	Yes     bool
	DryRun  bool
	Reason  string
}

// ReadCommand adds what a command needs that only reads the database: as OutputCommand. Its output
// goes through a pager.
func (f *Factory) ReadCommand(cmd *cobra.Command, args ...Arg) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return Page(cmd.Context(), f, func() error { return run(cmd, args) })
	}
	return OutputCommand(f, cmd, args...)
}

// OutputCommand adds the arguments, --output and its companions, --database-url and --profile, for
// a command that prints what it does at once.
func OutputCommand(f *Factory, cmd *cobra.Command, args ...Arg) *cobra.Command {
	f.OutputFlag(cmd)
	return DatabaseCommand(f, cmd, args...)
}

// DatabaseCommand adds the arguments, --database-url and --profile, for a command that has formats
// of its own.
func DatabaseCommand(f *Factory, cmd *cobra.Command, args ...Arg) *cobra.Command {
	SetArgs(cmd, args...)
	StringFlag(cmd, &f.DatabaseURL, "database-url", "`URL` of the Postgres database")
	ProfileFlag(f, cmd)
	return cmd
}

// ChangeCommand adds what a command needs that makes an audited change: as OutputCommand, and
// --dry-run and --reason.
func (f *Factory) ChangeCommand(cmd *cobra.Command, args ...Arg) *cobra.Command {
	OutputCommand(f, cmd, args...)
	f.ChangeFlags(cmd)
	return cmd
}

// ChangeFlags adds --dry-run and --reason.
func (f *SharedFlags) ChangeFlags(cmd *cobra.Command) {
	f.DryRunFlag(cmd)
	StringFlag(cmd, &f.Reason, "reason", "why: `TEXT` for the audit trail (no personal data)")
}

// DryRunFlag adds --dry-run, and --yes, which is accepted where nothing is asked.
func (f *SharedFlags) DryRunFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false, "show the result of the change without making it")
	cmd.Flags().BoolVar(&f.Yes, "yes", false, "skip the confirmation")
	cmd.Flags().Lookup("yes").Hidden = true
}

// YesFlag shows --yes in the help of a command that asks.
func (f *SharedFlags) YesFlag(cmd *cobra.Command) {
	cmd.Flags().Lookup("yes").Hidden = false
}

// StringFlag adds a flag whose value is a text. It is completed from these values, and never from
// file names.
func StringFlag(cmd *cobra.Command, value *string, name, usage string, completions ...string) {
	cmd.Flags().StringVar(value, name, "", usage)
	CompleteFlag(cmd, name, completions...)
}

// StringFlagFrom adds a flag whose value is completed from a list.
func StringFlagFrom(cmd *cobra.Command, value *string, name, usage string, list Lister) {
	cmd.Flags().StringVar(value, name, "", usage)
	CompleteFlagFrom(cmd, name, list)
}

// ParsedFlag adds a flag whose value is parsed by a function. The error of parse says what is wrong
// with the value.
func ParsedFlag[T any](
	cmd *cobra.Command,
	value *T,
	name, shorthand, usage string,
	parse func(string) (T, error),
	completions ...string,
) {
	cmd.Flags().VarP(&parsedValue{set: func(text string) (err error) {
		*value, err = parse(text)
		return err
	}}, name, shorthand, usage)
	CompleteFlag(cmd, name, completions...)
}

// parsedValue is the value of a flag that is parsed by a function. It keeps the text, to be
// repeated.
type parsedValue struct {
	text string
	set  func(string) error
}

// Set implements pflag.Value.
func (v *parsedValue) Set(text string) error {
	v.text = text
	return v.set(text)
}

// String implements pflag.Value.
func (v *parsedValue) String() string { return v.text }

// Type implements pflag.Value.
func (v *parsedValue) Type() string { return "func" }

// TextFlag adds a flag whose value is a text of at most that many characters, which others are
// shown.
func TextFlag(cmd *cobra.Command, value *string, name, usage string, most int, completions ...string) {
	ParsedFlag(cmd, value, name, "", usage, func(text string) (string, error) {
		if utf8.RuneCountInString(text) > most {
			return "", fmt.Errorf("must have at most %d characters", most)
		}
		return text, keys.CheckText(text)
	}, completions...)
}

// EnumFlag adds a flag that takes one of a few values, in any case.
func EnumFlag[T ~string](cmd *cobra.Command, value *T, name, shorthand, usage string, values ...T) {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	ParsedFlag(cmd, value, name, shorthand, usage, func(text string) (T, error) {
		word, ok := envvars.Word(text, names...)
		if !ok {
			last := len(names) - 1
			return "", fmt.Errorf("want %s or %s, not %q", strings.Join(names[:last], ", "), names[last], text)
		}
		return T(word), nil
	}, names...)
}

// NumberFlag adds a flag whose value is a number, at least 1.
func NumberFlag(cmd *cobra.Command, n *int64, name, usage string) {
	ParsedFlag(cmd, n, name, "", usage, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && n < 1 {
			err = fmt.Errorf("must be at least 1, not %d", n)
		}
		return n, err
	})
}

// QuotaFlags are --per-minute and --per-day. A number is 0 if its flag was not given.
type QuotaFlags struct{ plans.Quota }

// Add adds the flags. Their usage ends with note.
func (q *QuotaFlags) Add(cmd *cobra.Command, note string) {
	NumberFlag(cmd, &q.PerMinute, "per-minute", "`N` requests per minute"+note)
	NumberFlag(cmd, &q.PerDay, "per-day", "`N` requests per UTC day"+note)
}

// Given reports whether one of the flags was given.
func (q *QuotaFlags) Given() bool { return q.Quota != plans.Quota{} }

// Both returns nil if neither flag was given, and a usage error if one was.
func (q *QuotaFlags) Both() (*plans.Quota, error) {
	switch {
	case !q.Given():
		return nil, nil
	case q.PerMinute == 0 || q.PerDay == 0:
		return nil, UsageErrorf("--per-minute and --per-day must be given together")
	}
	if err := q.Validate(); err != nil {
		return nil, UsageErrorf("%v", err)
	}
	return &q.Quota, nil
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
