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

func newLogger(cfg config, out io.Writer) zerolog.Logger {
	if cfg.LogFormat == "text" {
		if b, ok := out.(*logBuffer); ok {
			// Text is for people who watch it: do not buffer.
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

// colours reports whether out is a terminal and NO_COLOR is not set (https://no-color.org).
func colours(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
}
