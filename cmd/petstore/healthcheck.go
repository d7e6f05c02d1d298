package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"petstore.example/internal/server"
)

func newHealthcheckCommand() *cobra.Command {
	var live bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the server on this machine whether it is ready",
		Long: `Ask /readyz at PETSTORE_ADMIN_ADDR, for containers and scripts. The answer is one line. The exit code is
0 if the server serves requests, ready or degraded, and 1 if it does not, or does not answer.
With --live ask /livez: whether the process runs.`,
		Example: `  petstore healthcheck
  petstore healthcheck --live --timeout 2s`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return server.Healthcheck(cmd.Context(), cmd.OutOrStdout(), os.Environ(), live, timeout)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "ask whether the process runs, not whether it serves requests")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}
