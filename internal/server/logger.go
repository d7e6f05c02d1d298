package server

import (
	"io"
	"os"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"petstore.example/internal/server/config"
)

// NewLogger returns a logger in the format of the configuration.
func NewLogger(cfg *config.Config, out io.Writer) zerolog.Logger {
	if cfg.LogFormat == "text" {
		if b, ok := out.(*LogBuffer); ok {
			// People read text as it is logged, so it is not buffered.
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
