package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
)

const (
	// readyWithin is how long systemd waits for a server that does not serve requests yet. Then it
	// is told that the server has started.
	readyWithin = 30 * time.Second
	readyPoll   = 50 * time.Millisecond
	// standstill is the longest time between two turns of the loop that watches the term.
	standstill = 10 * watchEvery
)

// serviceManager tells systemd the server's state by the protocol of sd_notify: that it is ready,
// that it is alive, and that it stops. Without systemd it does nothing.
type serviceManager struct {
	// stopping ends when the server begins to stop.
	stopping context.Context
	log      zerolog.Logger
	// notify sends to systemd; nil without it.
	notify func(state string) error
	// pingEvery is 0 without a watchdog.
	pingEvery time.Duration
	done      chan struct{}
	// ended is closed after the last message; nil before the first.
	ended chan struct{}
}

// newServiceManager returns the manager of a process that begins to stop when ctx ends.
func newServiceManager(ctx context.Context, log zerolog.Logger) *serviceManager {
	m := &serviceManager{stopping: ctx, log: log, done: make(chan struct{})}
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return m
	}
	m.notify = func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}
	timeout, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn().Err(err).Msg("systemd: there is no watchdog")
	}
	// Two of three pings may be late or lost.
	m.pingEvery = timeout / 3
	return m
}

// serving tells systemd the server's state from now on. status returns one line, and whether
// requests are served. The watchdog gets a ping while alive returns nil.
func (m *serviceManager) serving(status func() (text string, serves bool), alive func(context.Context) error) {
	if m.notify == nil {
		return
	}
	m.ended = make(chan struct{})
	go func() {
		defer close(m.ended)
		m.awaitReady(status)
		m.run(status, alive)
	}()
}

// after returns a function that calls started and then begins to tell systemd of the server's
// health.
func (m *serviceManager) after(started func(), h *health, on *Sockets) func() {
	return func() {
		started()
		m.serving(h.summary, h.alive(on.Admin.Addr().String()))
	}
}

// stop ends the messages; systemd sees by itself that the process ends. It must not be called at
// the same time as serving.
func (m *serviceManager) stop() {
	close(m.done)
	if m.ended != nil {
		<-m.ended
	}
}

// awaitReady returns when the server serves requests, begins to stop, or has not served for
// readyWithin. In the last case it counts as started: its missing parts may come back, and a
// restart would not help.
func (m *serviceManager) awaitReady(status func() (string, bool)) {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for late := time.After(readyWithin); ; {
		text, serves := status()
		if serves {
			m.send(daemon.SdNotifyReady, text)
			return
		}
		select {
		case <-m.stopping.Done():
			return
		case <-m.done:
			return
		case <-late:
			m.send(daemon.SdNotifyReady, text)
			return
		case <-poll.C:
		}
	}
}

// run pings until the end of the process. While the process stops, systemd's TimeoutStopSec bounds
// it in place of the watchdog.
func (m *serviceManager) run(status func() (string, bool), alive func(context.Context) error) {
	var ping <-chan time.Time
	if m.pingEvery > 0 {
		ticker := time.NewTicker(m.pingEvery)
		defer ticker.Stop()
		ping = ticker.C
	}
	stopping := m.stopping.Done()
	for {
		select {
		case <-m.done:
			return
		case <-stopping:
			stopping = nil
			m.send(daemon.SdNotifyStopping, "stopping")
		case <-ping:
			if stopping == nil {
				m.send(daemon.SdNotifyWatchdog, "stopping")
				continue
			}
			ctx, cancel := context.WithTimeout(m.stopping, m.pingEvery)
			err := alive(ctx)
			cancel()
			if m.stopping.Err() != nil {
				continue // systemd must hear first that the server stops.
			}
			if err != nil {
				m.log.Error().Err(err).Msg("systemd: the watchdog gets no ping")
				continue
			}
			text, _ := status()
			m.send(daemon.SdNotifyWatchdog, text)
		}
	}
}

func (m *serviceManager) send(state, status string) {
	if err := m.notify(state + "\nSTATUS=" + status); err != nil {
		m.log.Warn().Err(err).Msg("systemd: notify")
	}
}

// waiting tells systemd that the start takes longer, with the reason, which systemd shows.
func (m *serviceManager) waiting(text string) {
	if m.notify != nil {
		m.send(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", readyWithin.Microseconds()), text)
	}
}

// summary returns the state of the server as one line, and whether it serves requests.
func (h *health) summary() (text string, serves bool) {
	r := h.readiness()
	return verbose{r.Status, h.addr, r.checks}.String(), r.serves()
}

// alive returns a function that reports whether the process works: its admin server answers, and it
// has lately looked for its term.
func (h *health) alive(adminAddr string) func(context.Context) error {
	turns, turned := int64(-1), time.Now()
	return func(ctx context.Context) error {
		if now := h.term.turns.Load(); now != turns {
			turns, turned = now, time.Now()
		}
		if time.Since(turned) > standstill {
			return errors.New("the loop that watches the term stands still")
		}
		status, _, err := askAdmin(ctx, adminAddr, "/livez")
		if err != nil {
			return fmt.Errorf("ask /livez: %w", err)
		}
		if status != http.StatusOK {
			return fmt.Errorf("/livez: status %d", status)
		}
		return nil
	}
}
