package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
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
				return runCheck(cmd.Context(), cmd.OutOrStdout(), os.Environ())
			}
			cfg, err := readConfig(os.Environ())
			if err != nil {
				return err
			}
			sockets, err := openSockets(cmd.Context(), &cfg)
			if err != nil {
				return err
			}
			defer sockets.close()
			log := newLogBuffer(os.Stderr)
			defer log.flush()
			return run(cmd.Context(), cfg, sockets, newLogger(cfg, log), func() {})
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

// openSockets listens on the addresses of the configuration, or on the sockets that systemd hands
// over in their place.
func openSockets(ctx context.Context, cfg *config) (*sockets, error) {
	handed, err := handedOver()
	if err != nil {
		return nil, err
	}
	on, err := listen(
		ctx,
		address{cfg.Addr, "PETSTORE_ADDR", handed["api"]},
		address{cfg.AdminAddr, "PETSTORE_ADMIN_ADDR", handed["admin"]},
	)
	if err == nil && handed["api"] != nil && cfg.BaseURL == defaultBaseURL(cfg.Addr) {
		cfg.BaseURL = defaultBaseURL(on.api.Addr().String())
	}
	if err == nil && handed["api"] != nil && cfg.addrSet && !isAddr(on.api.Addr(), cfg.Addr) {
		cfg.found.add(
			"socket",
			fmt.Sprintf(
				"the server listens on %v, the socket of systemd, and not on PETSTORE_ADDR=%s: set the same in both",
				on.api.Addr(),
				cfg.Addr,
			),
		)
	}
	return on, err
}
