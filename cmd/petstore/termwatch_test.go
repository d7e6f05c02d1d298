package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// TestTermWatch: a server without a term says so once when that has lasted longer than a fence, and once when it is over.
func TestTermWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines strings.Builder
		decides := true
		w := &termWatch{decides: func() bool { return decides }, log: zerolog.New(&lines)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx) }()
		after := func(d time.Duration, want bool, logged int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if w.lost.Load() != want || strings.Count(lines.String(), "\n") != logged {
				t.Errorf("lost %v, want %v, %d lines; log:\n%s", w.lost.Load(), want, logged, &lines)
			}
		}
		after(time.Minute, false, 0)
		decides = false
		after(withoutTerm-watchEvery, false, 0)
		after(3*watchEvery, true, 1)
		after(time.Minute, true, 1)
		decides = true
		after(2*watchEvery, false, 2)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
