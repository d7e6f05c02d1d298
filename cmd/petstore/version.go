package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"petstore.example/internal/buildinfo"
)

// version is set when a release is built: -ldflags "-X main.version=v1.2.3".
var version = ""

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  noArguments,
		Run:   func(cmd *cobra.Command, _ []string) { printVersion(cmd) },
	}
}

func printVersion(cmd *cobra.Command) {
	_, _ = fmt.Fprintln(cmd.OutOrStdout(), buildinfo.Read(version).Line("petstore"))
}
