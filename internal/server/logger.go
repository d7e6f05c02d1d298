package main

import (
	"io"
	"os"

	"github.com/rs/zerolog"
	"golang.org/x/term"
)

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
