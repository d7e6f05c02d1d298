package main

import (
	"os"

	"github.com/spf13/cobra"

	"petstore.example/internal/buildinfo"
	"petstore.example/internal/server"
	"petstore.example/internal/server/config"
)

func newServeCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API, configured by PETSTORE_* environment variables",
		Long: `Serve the API until SIGTERM or SIGINT. Then /readyz fails, requests in flight finish, and usage
is written. Migrate the database first: petstorectl migrate up.

Under systemd it serves on the sockets that it is handed over, says when it is ready and when it stops, and
pings the watchdog.

The configuration is read from the environment. See docs/configuration.md; "petstore config" prints it.

With --check it tries all that it needs and exits: the settings, the addresses, Postgres with its schema and
rights, and Redis. A line each says what was tried. The exit code is 1 if anything failed. It may run beside a
server, and changes nothing.`,
		Example: `  petstore serve --check
  PETSTORE_DATABASE_URL='postgres://petstore@db/petstore?sslmode=verify-full' petstore serve`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check {
				return server.Check(cmd.Context(), buildinfo.Read(version), cmd.OutOrStdout(), os.Environ())
			}
			cfg, err := config.Read(os.Environ())
			if err != nil {
				return err
			}
			sockets, err := server.OpenSockets(cmd.Context(), &cfg)
			if err != nil {
				return err
			}
			defer sockets.Close()
			log := server.NewLogBuffer(os.Stderr)
			defer log.Flush()
			return server.Run(
				cmd.Context(),
				buildinfo.Read(version),
				&cfg,
				sockets,
				server.NewLogger(&cfg, log),
				func() {},
			)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "try all that serve needs, and exit")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError(
			err.Error() + "; serve is configured by PETSTORE_* environment variables, see: petstore serve --help",
		)
	})
	return cmd
}
