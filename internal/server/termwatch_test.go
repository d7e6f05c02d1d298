package server

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/test/assert"
)

// TestTermWatch: a server without a term says so once when that has lasted longer than a fence, and
// once when it is over.
func TestTermWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var decides atomic.Bool
		var lines atomic.Int64
		count := zerolog.HookFunc(func(*zerolog.Event, zerolog.Level, string) { lines.Add(1) })
		w := &termWatch{decides: decides.Load, log: zerolog.New(io.Discard).Hook(count)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx) }()
		after := func(d time.Duration, want bool, logged int64) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			assert.Equal(t, w.lost.Load(), want, "lost")
			assert.Equal(t, lines.Load(), logged)
		}
		decides.Store(true)
		after(time.Minute, false, 0)
		decides.Store(false)
		after(withoutTerm-watchEvery, false, 0)
		after(3*watchEvery, true, 1)
		after(time.Minute, true, 1)
		decides.Store(true)
		after(2*watchEvery, false, 2)
		cancel()
		assert.Equal(t, <-ended, nil)
	})
}
