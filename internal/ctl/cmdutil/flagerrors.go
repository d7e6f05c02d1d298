package cmdutil

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// RequireFlags refuses a command line without these flags.
func RequireFlags(cmd *cobra.Command, names ...string) error {
	var missing []string
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); !f.Changed || f.Value.Type() == "string" && f.Value.String() == "" {
			missing = append(missing, "--"+name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	flags := "flag"
	if len(missing) > 1 {
		flags = "flags"
	}
	return UsageErrorf("missing required %s: %s", flags, strings.Join(missing, " and ")).WithHint(usage(cmd))
}

// usage says what to do about an incomplete command line: it has the form of the command, and its
// first example.
func usage(cmd *cobra.Command) string {
	example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	return "usage: " + cmd.UseLine() + "\nexample: " + example
}

// FlagError turns an error of pflag into a usage error, with the flag that was probably meant.
func FlagError(cmd *cobra.Command, err error) error {
	e := UsageErrorf("%v", err).WithHint("see: " + cmd.CommandPath() + " --help")
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		e.Message = fmt.Sprintf("--%s: %s", invalid.GetFlag().Name, invalidValue(invalid))
	}
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		if elsewhere := flagElsewhere[groupPath(cmd)+" --"+unknown.GetSpecifiedName()]; elsewhere != "" {
			e.Hint = fmt.Sprintf(elsewhere, givenTenant(cmd))
		} else if found := rightSpelling(cmd, unknown.GetSpecifiedName()); found != "" {
			e.Message += "; " + found
			if !strings.Contains(found, "--") {
				e.Hint = usage(cmd)
			}
		} else if cmd.HasSubCommands() {
			e.Hint = "flags follow the verb: petstorectl NOUN VERB [flags]"
		}
	}
	return e
}

// monthOfTenant is for a limit of a month that a key can't have.
const monthOfTenant = "a month belongs to the tenant: petstorectl plan assign --help, or plan boost --help%.0s"

// flagElsewhere has, for a wrong flag, the command that does what the flag asks for. %s stands for
// the tenant.
var flagElsewhere = map[string]string{
	"tenant edit --plan":       "petstorectl plan assign %s PLAN",
	"tenant edit --per-minute": "petstorectl plan assign %s PLAN --per-minute N --per-day N",
	"tenant edit --per-month":  monthOfTenant,
	"key edit --per-month":     monthOfTenant,
	"key issue --per-month":    monthOfTenant,
}

// givenTenant is the first argument of a command line with a wrong flag, or TENANT.
func givenTenant(cmd *cobra.Command) string {
	if name := cmd.Flags().Arg(0); plainWord.MatchString(name) {
		return name
	}
	return "TENANT"
}

// rightSpelling says which argument or flag of the command was probably meant by an unknown flag,
// "" if none fits.
func rightSpelling(cmd *cobra.Command, name string) string {
	name = strings.ToLower(name)
	for _, meant := range append([]string{name}, strings.Split(flagSynonyms[name], ",")...) {
		flag, _, _ := strings.Cut(meant, " ")
		if cmd.Flags().Lookup(flag) != nil {
			return "did you mean --" + meant + "?"
		}
		if argument := strings.ToUpper(flag); takesArgument(cmd, argument) {
			return argument + " is an argument"
		}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	known = slices.DeleteFunc(known, func(k string) bool { return isOpposite(name, k) })
	if found := closest(name, known); found != "" {
		return "did you mean --" + found + "?"
	}
	return ""
}

// takesArgument tells whether a command has an argument of that name.
func takesArgument(cmd *cobra.Command, name string) bool {
	parts := strings.FieldsFunc(cmd.Use, func(r rune) bool { return strings.ContainsRune(" {}[]|.", r) })
	i := slices.Index(parts, name)
	return i > 0 && !strings.HasPrefix(parts[i-1], "--")
}

// rightFlag names the flag that filters by a superfluous argument, "" for none.
func rightFlag(cmd *cobra.Command, given string) string {
	_, err := parseMonth(given)
	switch {
	case err == nil && cmd.Flags().Lookup("month") != nil:
		return "; did you mean --month " + given + "?"
	case cmd.Flags().Lookup("tenant") != nil && isOfTenant(given):
		return "; did you mean --tenant " + given + "?"
	}
	return ""
}

// invalidValue says what is wrong with a flag's value, without the words of the library that parsed
// it.
func invalidValue(e *pflag.InvalidValueError) string {
	var number *strconv.NumError
	value := e.GetValue()
	switch {
	case !errors.As(e, &number):
		return errors.Unwrap(e).Error()
	case e.GetFlag().Value.Type() == "bool":
		return fmt.Sprintf("%q is not true or false", value)
	case !errors.Is(number, strconv.ErrRange):
		return fmt.Sprintf("%q is not an integer", value)
	case strings.HasPrefix(value, "-"):
		return value + " is too small"
	}
	return value + " is too large"
}
