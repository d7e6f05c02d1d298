package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"petstore.example/internal/server/config"
)

func newConfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print and check the configuration, without secrets",
		Long: `Print the settings of "petstore serve" as environment variables, and list all mistakes in them.
Secrets are not printed. The exit code is 1 if there is a mistake.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Read(os.Environ())
			for _, w := range cfg.Warnings {
				_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+w)
			}
			if err := cfg.Print(cmd.OutOrStdout(), os.Environ()); err != nil {
				return err
			}
			return err
		},
	}
}
