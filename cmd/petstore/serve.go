package main

import (
	"os"

	"github.com/spf13/cobra"
)

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API, configured by PETSTORE_* environment variables",
		Long: `Serve the API until SIGTERM or SIGINT. Then /readyz fails, requests in flight finish, and usage is written.
Migrate the database first: petstorectl migrate up.

The configuration is read from the environment. See docs/configuration.md; "petstore config" prints it.`,
		Example: `  PETSTORE_DATABASE_URL='postgres://petstore@db/petstore?sslmode=verify-full' petstore serve`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(nil)
			if err != nil {
				return err
			}
			sockets, err := listen(cmd.Context(), address{cfg.Addr, "PETSTORE_ADDR"}, address{cfg.AdminAddr, "PETSTORE_ADMIN_ADDR"})
			if err != nil {
				return err
			}
			defer sockets.close()
			log := newLogBuffer(os.Stderr)
			defer log.flush()
			return run(cmd.Context(), cfg, sockets, newLogger(cfg, log), func() {})
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError(err.Error() + "; serve is configured by PETSTORE_* environment variables, see: petstore serve --help")
	})
	return cmd
}
