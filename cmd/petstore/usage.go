package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// usageError is an invalid command line. The exit code is 2, as in petstorectl.
type usageError string

func (e usageError) Error() string { return string(e) }

func exitCode(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		hint = fmt.Sprintf("; did you mean %q?", like[0])
	}
	return usageError(fmt.Sprintf("unknown command %q%s", args[0], hint))
}

// noArguments rejects arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError(fmt.Sprintf("%s takes no arguments, got %q", cmd.CommandPath(), args[0]))
}
