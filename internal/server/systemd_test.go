package server

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/server/config"
	"petstore.example/internal/test/assert"
)

// notifying is a service manager that hands on what it tells systemd.
func notifying(stopping context.Context, t *testing.T, pingEvery time.Duration) (*serviceManager, <-chan string) {
	t.Helper()
	states := make(chan string)
	m := newServiceManager(stopping, zerolog.Nop())
	m.notify, m.pingEvery = func(state string) error {
		select {
		case states <- state:
		case <-m.done:
		}
		return nil
	}, pingEvery
	t.Cleanup(m.stop)
	return m, states
}

func receive(t *testing.T, states <-chan string) string {
	t.Helper()
	select {
	case s := <-states:
		return s
	case <-time.After(time.Minute):
		t.Fatal("systemd is told nothing")
		return ""
	}
}

// TestServiceManager: ready only once requests are served, then pings while the process is alive,
// none while it is not, and stopping at once.
func TestServiceManager(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	m, states := notifying(ctx, t, 2*time.Millisecond)
	var serves, dead atomic.Bool
	var asked atomic.Int64 // of the dead process
	m.serving(func() (string, bool) {
		if serves.Load() {
			return "ready", true
		}
		return "unavailable (term: none)", false
	}, func(context.Context) error {
		if dead.Load() {
			asked.Add(1)
			return errors.New("dead")
		}
		return nil
	})
	select {
	case s := <-states:
		t.Fatalf("systemd is told %q of a server that does not serve", s)
	case <-time.After(3 * readyPoll):
	}
	serves.Store(true)
	assert.Equal(t, receive(t, states), "READY=1\nSTATUS=ready", "told")
	serves.Store(false)
	// The status of one ping may be from before.
	receive(t, states)
	assert.Equal(t, receive(t, states), "WATCHDOG=1\nSTATUS=unavailable (term: none)", "told")
	dead.Store(true)
	for end := time.Now().Add(time.Minute); asked.Load() < 5 && time.Now().Before(end); {
		select {
		case s := <-states:
			assert.True(t, asked.Load() == 0, "told", s, "of a process that is dead")
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	assert.Equal(t, receive(t, states), "STOPPING=1\nSTATUS=stopping", "told")
	assert.Equal(t, receive(t, states), "WATCHDOG=1\nSTATUS=stopping", "told")
}

// TestAliveNeedsTheTermWatch: a loop that stands still keeps the pings away.
func TestAliveNeedsTheTermWatch(t *testing.T) {
	t.Parallel()
	on, err := Listen(t.Context(), Address{Addr: "127.0.0.1:0"}, Address{Addr: "127.0.0.1:0"})
	assert.NoError(t, err)
	defer on.Close()
	h := &health{term: &termWatch{}}
	server := newHTTPServer(adminHandler(&config.Config{}, h, nil), zerolog.Nop())
	defer server.Close()
	go func() { _ = server.Serve(on.Admin) }()
	alive := h.alive(on.Admin.Addr().String())
	assert.Equal(t, alive(t.Context()), nil, "at first")
	time.Sleep(standstill + 100*time.Millisecond) // the server stands still for longer than the watchdog allows
	if err := alive(t.Context()); err == nil {
		t.Error("alive although the term watch stands still")
	}
	h.term.turns.Add(1)
	assert.Equal(t, alive(t.Context()), nil, "after a turn")
	_ = server.Close()
	h.term.turns.Add(1)
	if err := alive(t.Context()); err == nil {
		t.Error("alive although /livez does not answer")
	}
}
