package loglimit

import (
	"sync/atomic"

	"github.com/rs/zerolog"
)

const (
	// Suppressed is the field with the number of suppressed lines.
	Suppressed = "suppressed"
	// maxMessages is the number of messages that are kinds of their own. All later ones are one
	// kind, so that texts with numbers in them do not fill the memory.
	maxMessages = 256
)

// Log returns the log with at most one warning and one error a second for each message. Other
// levels are unchanged.
func Log(to zerolog.Logger) zerolog.Logger {
	h := &hook{}
	h.limiter = New(func(of message, suppressed int64) {
		to.WithLevel(of.level).Int64(Suppressed, suppressed).Msg(of.text)
	})
	return to.Hook(h)
}

type message struct {
	level zerolog.Level
	text  string
}

// hook implements zerolog.Hook.
type hook struct {
	limiter *Limiter[message]
	known   atomic.Int64
}

// Run implements zerolog.Hook. It runs before each line.
func (h *hook) Run(e *zerolog.Event, level zerolog.Level, text string) {
	if level != zerolog.WarnLevel && level != zerolog.ErrorLevel {
		return
	}
	of := message{level, text}
	if _, ok := h.limiter.kinds.Load(of); !ok && h.known.Add(1) > maxMessages {
		of.text = "other messages"
	}
	ok, suppressed := h.limiter.Allow(of)
	switch {
	case !ok:
		e.Discard()
	case suppressed > 0:
		e.Int64(Suppressed, suppressed)
	}
}
