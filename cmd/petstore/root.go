package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

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
