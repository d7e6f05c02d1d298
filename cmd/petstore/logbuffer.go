package main

import (
	"io"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

const (
	// logDelay is how late an event may be written; logRoom how much may wait, in bytes.
	logDelay = 50 * time.Millisecond
	logRoom  = 32 << 10
)

// logBuffer writes events together: one system call for each costs 1.5 µs, a tenth of all that an answer from memory does.
// Errors are written at once, with what came before them; so a panic's stack is never lost. What kills the process without
// warning can lose the last logDelay.
type logBuffer struct {
	out   io.Writer
	mu    sync.Mutex
	held  []byte
	timer *time.Timer
}

func newLogBuffer(out io.Writer) *logBuffer {
	b := &logBuffer{out: out, held: make([]byte, 0, logRoom)}
	b.timer = time.AfterFunc(logDelay, b.flush)
	return b
}

// Write implements io.Writer.
func (b *logBuffer) Write(event []byte) (int, error) { return b.WriteLevel(zerolog.NoLevel, event) }

// WriteLevel implements zerolog.LevelWriter.
func (b *logBuffer) WriteLevel(level zerolog.Level, event []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.held) == 0 {
		b.timer.Reset(logDelay)
	}
	b.held = append(b.held, event...)
	if len(b.held) > logRoom-1024 || zerolog.ErrorLevel <= level && level < zerolog.NoLevel {
		return len(event), b.write()
	}
	return len(event), nil
}

// flush writes all that waits.
func (b *logBuffer) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	// There is nowhere to tell that the log can't be written.
	_ = b.write()
}

// write is called with the lock held.
func (b *logBuffer) write() error {
	if len(b.held) == 0 {
		return nil
	}
	_, err := b.out.Write(b.held)
	b.held = b.held[:0]
	return err
}
