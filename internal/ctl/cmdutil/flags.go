package cmdutil

import (
	"cmp"
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

// maxReason is in code points. A ban's reason is shown to the tenant with each refusal.
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

// ReadCommand adds what a read-only command needs: the same as OutputCommand, and a pager for its
// output.
func (f *Factory) ReadCommand(cmd *cobra.Command, args ...Arg) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return Page(cmd.Context(), f, func() error { return run(cmd, args) })
	}
	return OutputCommand(f, cmd, args...)
}

// OutputCommand adds the arguments, --output and its companions, --database-url and --profile. It
// is for a command whose output must appear at once, without a pager.
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

// ChangeCommand adds what a command with an audited change needs: the same as OutputCommand, and
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

// DryRunFlag adds --dry-run, and --yes, which is accepted even if nothing is asked.
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

// ParsedFlag adds a flag whose value is parsed by parse. The error of parse says what is wrong with
// the value.
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

// parsedValue is the value of a flag that a function parses. It keeps the text, to repeat it.
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

// TextFlag adds a flag whose value is a text that other people see, of at most that many
// characters.
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
			want := names[len(names)-1]
			if others := names[:len(names)-1]; len(others) > 0 {
				want = strings.Join(others, ", ") + " or " + want
			}
			return "", fmt.Errorf("want %s, not %q", want, text)
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

// QuotaFlags are --per-minute, --per-day, --per-month and --overage. A number is 0 if its flag was
// not given, and the month and its overage are as before.
type QuotaFlags struct{ plans.Quota }

// Add adds the flags. Their usage ends with note.
func (q *QuotaFlags) Add(cmd *cobra.Command, note string) {
	NumberFlag(cmd, &q.PerMinute, "per-minute", "`N` requests per minute"+note)
	NumberFlag(cmd, &q.PerDay, "per-day", "`N` requests per UTC day"+note)
	ParsedFlag(cmd, &q.Month, "per-month", "", "`N` included per UTC month, or none"+note,
		func(text string) (plans.Month, error) { return parseMonthly(text, q.Month) }, "none")
	ParsedFlag(cmd, &q.Month.Overage, "overage", "",
		"`N`, 20%, unlimited or none admitted above that", plans.ParseOverage, "none", "unlimited")
}

// parseMonthly reads the included requests of a month. Its overage is another flag.
func parseMonthly(text string, m plans.Month) (plans.Month, error) {
	if m.Kind, m.Included = plans.NoMonth, 0; text == "none" {
		return m, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return m, fmt.Errorf("%.80q is not none or a number such as 100000", text)
	}
	m.Kind, m.Included = plans.SomeMonth, n
	return m, nil
}

// Given reports whether one of the flags was given.
func (q *QuotaFlags) Given() bool { return q.Quota != plans.Quota{} }

// All returns nil if no flag was given, and a usage error if numbers are missing. Beside --per-month
// the day may be left out: then it is what the month admits.
func (q *QuotaFlags) All() (*plans.Quota, error) {
	all := q.Quota
	limit, limited := all.Month.Cap()
	switch {
	case !q.Given():
		return nil, nil
	case all.Month.Kind == plans.AsBefore && all.Month.Overage.Kind != plans.OverageAsBefore:
		return nil, UsageErrorf("--overage requires --per-month")
	case all.Month.Kind == plans.SomeMonth && all.PerMinute == 0:
		return nil, UsageErrorf("--per-month requires --per-minute")
	case all.Month.Kind == plans.SomeMonth && all.PerDay == 0 && !limited:
		return nil, UsageErrorf("--per-day must be given: with unlimited overage the month has no limit")
	case limited && all.PerDay == 0:
		all.PerDay = limit
	case all.PerMinute == 0 || all.PerDay == 0:
		return nil, UsageErrorf("--per-minute and --per-day must be given together")
	}
	if err := all.Month.Validate(); err != nil {
		return nil, UsageErrorf("%v", err)
	}
	if err := cmp.Or(all.Validate(), all.ValidateDay()); err != nil {
		return nil, UsageErrorf("%v", err)
	}
	return &all, nil
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
