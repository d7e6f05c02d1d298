package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when a release is built: -ldflags "-X main.version=1.2.3".
var version = ""

func newRootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "petstore",
		Short:         "The animal store's API server",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// Suggest similar commands for short words, too.
		SuggestionsMinimumDistance: 2,
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Sprintf("%v; see: %s --help", err, cmd.CommandPath()))
	})
	cmd.AddCommand(newServeCommand(), newDevCommand(), newConfigCommand(), newVersionCommand())
	return cmd
}

// usageError is an invalid command line. The exit code is 2, as in petstorectl.
type usageError string

func (e usageError) Error() string { return string(e) }

func exitCode(err error) int {
	var usage usageError
	if errors.As(err, &usage) {
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

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  noArguments,
		Run: func(cmd *cobra.Command, _ []string) {
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "petstore %s %s\n", versionText(), runtime.Version())
		},
	}
}

func versionText() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
