package main

import (
	"io"
	"os"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"petstore.example/internal/loglimit"
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

// serverLogs returns the log of a server's requests, and that of everything else, which has one line a second of each kind of trouble. The
// API limits its own lines.
func serverLogs(log zerolog.Logger, serverID string) (requests, others zerolog.Logger) {
	requests = log.With().Str("server", serverID).Logger()
	return requests, loglimit.Log(requests)
}

// colours reports whether out is a terminal and NO_COLOR is not set (https://no-color.org).
func colours(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
}
