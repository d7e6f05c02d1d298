package cmdutil

import (
	"errors"
	"fmt"
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
	return UsageErrorf("missing required %s: %s", flags, strings.Join(missing, " and ")).WithHint("usage: " + cmd.UseLine())
}

// FlagError turns an error of pflag into a usage error, with the flag that was probably meant.
func FlagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		// A group knows no flags: what is wrong is the verb before them.
		return GroupRun(cmd, args)
	}
	e := UsageErrorf("%v", err).WithHint("see: " + cmd.CommandPath() + " --help")
	if invalid := (*pflag.InvalidValueError)(nil); errors.As(err, &invalid) {
		e.Message = fmt.Sprintf("--%s: %s", invalid.GetFlag().Name, invalidValue(invalid))
	}
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if found := closest(unknown.GetSpecifiedName(), known); found != "" {
			e.Message += "; did you mean --" + found + "?"
		} else if cmd.HasSubCommands() {
			e.Hint = "flags follow the verb: petstorectl NOUN VERB [flags]"
		}
	}
	return e
}

// invalidValue says what is wrong with a flag's value, without the words of the library that parsed it.
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
