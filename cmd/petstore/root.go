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
		// Suggest similar commands for short words, too.
		SuggestionsMinimumDistance: 2,
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Sprintf("%v; see: %s --help", err, cmd.CommandPath()))
	})
	// Not Cobra's own flag: with a template of the version the linker keeps every method of the
	// program, which makes it 14 MB larger.
	cmd.Flags().BoolVar(&showVersion, "version", false, "print the version of this program")
	cmd.AddCommand(newServeCommand(), newDevCommand(), newConfigCommand(), newHealthcheckCommand(), newVersionCommand())
	return cmd
}
