package cmdutil

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"petstore.example/internal/keys"
	"petstore.example/internal/staff"
)

// Arg is one positional argument of a command.
type Arg struct {
	// Name is in brackets if the argument is optional: "TENANT" or "[TENANT]".
	Name  string
	Value *string
	// Complete lists the names for a shell. Check refuses invalid values. Both may be nil.
	Complete Lister
	Check    func(string) error

	repeated bool
}

// KeyIDArg is the argument KEY-ID.
func KeyIDArg(f *Factory, value *string) Arg {
	return Arg{Name: "KEY-ID", Value: value, Complete: KeyIDs(f), Check: CheckKeyID}
}

// TenantArg is the argument TENANT of an existing tenant.
func TenantArg(f *Factory, value *string) Arg {
	return Arg{Name: "TENANT", Value: value, Complete: TenantNames(f)}
}

// PlanArg is the argument PLAN.
func PlanArg(f *Factory, value *string) Arg {
	return Arg{Name: "PLAN", Value: value, Complete: PlanNames(f)}
}

// Optional is the argument with its name in brackets.
func (a Arg) Optional() Arg {
	a.Name = "[" + a.Name + "]"
	return a
}

// Repeated returns the argument as one that may be given any number of times, or not at all. It
// must be the command's last. The command reads its values from Cobra's arguments.
func (a Arg) Repeated() Arg {
	a.Name, a.repeated = "["+a.Name+"...]", true
	return a
}

func (a Arg) check(value string) error {
	if a.Check == nil {
		return nil
	}
	return a.Check(value)
}

// SetArgs makes the command take these arguments and no others.
func SetArgs(cmd *cobra.Command, args ...Arg) {
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if len(given) > len(args) && !repeats(args) {
			return UsageErrorf(
				"unexpected argument: %q%s",
				given[len(args)],
				rightFlag(cmd, given[len(args)]),
			).WithHint(usage(cmd))
		}
		for i, arg := range args {
			if i >= len(given) {
				if strings.HasPrefix(arg.Name, "[") {
					continue
				}
				return UsageErrorf("missing argument: %s", arg.Name).WithHint(usage(cmd))
			}
			*arg.Value = given[i]
			if err := arg.check(given[i]); err != nil {
				return err
			}
		}
		return nil
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, prefix string) ([]string,
		cobra.ShellCompDirective) {
		n := len(given)
		if n >= len(args) && repeats(args) {
			n = len(args) - 1
		}
		if n >= len(args) {
			return complete(cmd, nil, prefix)
		}
		return complete(cmd, args[n].Complete, prefix)
	}
}

func repeats(args []Arg) bool { return len(args) > 0 && args[len(args)-1].repeated }

// CheckText refuses arguments that a database can't store or that contain a key, because reasons
// and names are stored permanently and shown to others. The error does not repeat the argument.
func CheckText(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) || strings.ContainsRune(arg, 0) {
			return UsageErrorf("argument %d is not valid UTF-8 text", i+1)
		}
		if errors.Is(keys.CheckText(arg), keys.ErrTextContainsKey) {
			return UsageErrorf(
				"argument %d contains an API key; keys are read from stdin, never from the command line",
				i+1,
			).
				WithHint(
					"the key is now in your shell history: consider revoking it; find its ID with: petstorectl why -",
				)
		}
		if staff.ContainsSecret(arg) {
			return UsageErrorf(
				"argument %d contains the secret of a login; secrets are read from stdin, never from the command line",
				i+1,
			).
				WithHint(
					"the secret is now in your shell history: ask an administrator to run: petstorectl staff rotate " +
						"LOGIN",
				)
		}
	}
	return nil
}

// CheckKeyID refuses a text that may be a key in place of its ID, without repeating it.
func CheckKeyID(id string) error {
	if strings.HasPrefix(id, "pst_") {
		return UsageErrorf("want the ID of a key (key_…), not the key").WithHint(
			"find it by its last four characters, or by all of it on stdin: petstorectl why -",
		)
	}
	return nil
}
