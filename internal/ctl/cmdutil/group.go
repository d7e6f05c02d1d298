package cmdutil

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// NewGroup is a noun: a command that only has verbs. Use is its name, and after a comma its aliases.
func NewGroup(use, short string, verbs ...*cobra.Command) *cobra.Command {
	names := strings.Split(use, ",")
	cmd := &cobra.Command{
		Use: names[0], Aliases: names[1:], Short: short,
		Example: verbs[0].Example,
		RunE:    GroupRun,
		// Cobra takes any argument of a nested group as its own and exits 0.
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// GroupRun shows the help of a group, and refuses a verb that it does not have.
func GroupRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	if !cmd.HasParent() {
		if err := verbFirst(cmd, args); err != nil {
			return err
		}
	}
	return UnknownCommand(cmd, args[0])
}

// verbFirst is the error of arguments that name a verb where its noun should be; nil if they do not.
func verbFirst(root *cobra.Command, args []string) *Error {
	isNamed := func(c *cobra.Command, name string) bool { return c.Name() == name || c.HasAlias(name) }
	err := UsageErrorf("unknown command %q for %q: the noun comes before the verb", args[0], root.Name())
	var nouns []string
	for _, noun := range root.Commands() {
		if !slices.ContainsFunc(noun.Commands(), func(verb *cobra.Command) bool { return isNamed(verb, args[0]) }) {
			continue
		}
		if len(args) > 1 && isNamed(noun, args[1]) {
			return err.WithHint(strings.Join([]string{root.Name(), args[1], args[0]}, " "))
		}
		nouns = append(nouns, noun.Name())
	}
	if len(nouns) == 0 {
		return nil
	}
	return err.WithHint(fmt.Sprintf("%s NOUN %s, where NOUN is one of %s", root.Name(), args[0], strings.Join(nouns, ", ")))
}

// UnknownCommand is the error of a command that does not exist.
func UnknownCommand(cmd *cobra.Command, name string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(append(known, c.Name()), c.Aliases...)
		}
	}
	return UsageErrorf("unknown command %q for %q%s", name, cmd.CommandPath(), didYouMean(name, known)).
		WithHint("see: " + cmd.CommandPath() + " --help")
}
