package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newRootCommand() *cobra.Command {
	var showVersion bool
	cmd := &cobra.Command{
		Use:           "petstore",
		Short:         "The animal store's API server",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				printVersion(cmd)
				return nil
			}
			return cmd.Help()
		},
		// Even short words get suggestions of similar commands.
		SuggestionsMinimumDistance: 2,
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Sprintf("%v; see: %s --help", err, cmd.CommandPath()))
	})
	// Cobra's own flag prints the version by a template, which makes the linker keep every method
	// of the program: 14 MB more.
	cmd.Flags().BoolVar(&showVersion, "version", false, "print the version of this program")
	cmd.AddCommand(newServeCommand(), newDevCommand(), newConfigCommand(), newHealthcheckCommand(), newVersionCommand())
	return cmd
}
