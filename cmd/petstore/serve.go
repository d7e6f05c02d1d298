package main

import (
	"io"
	"os"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API, configured by PETSTORE_* environment variables",
		Long: `Serve the API until a signal asks to stop: then readiness fails first, requests in flight finish, and what was
counted is written. The database must have been migrated: petstorectl migrate up.

The configuration comes from the environment; docs/configuration.md lists it, "petstore config" shows it.`,
		Example: `  PETSTORE_DATABASE_URL='postgres://petstore@db/petstore?sslmode=verify-full' petstore serve`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readConfig(nil)
			if err != nil {
				return err
			}
			sockets, err := listen(cmd.Context(), place{cfg.Addr, "PETSTORE_ADDR"}, place{cfg.AdminAddr, "PETSTORE_ADMIN_ADDR"})
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

func newLogger(cfg config, out io.Writer) zerolog.Logger {
	if cfg.LogFormat == "text" {
		if b, ok := out.(*logBuffer); ok {
			// Who reads along waits for nothing.
			out = b.out
		}
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: "15:04:05.000", NoColor: !colours(out)}
	}
	level, err := zerolog.ParseLevel(cfg.LogLevel)
	if err != nil {
		level = zerolog.InfoLevel
	}
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z07:00"
	return zerolog.New(out).Level(level).With().Timestamp().Logger()
}

// colours tells whether out is a terminal whose user has nothing against them (https://no-color.org).
func colours(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
}
