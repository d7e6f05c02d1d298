package httpfast

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Listener hands out connections that are Conns. It sweeps them until it is closed and the last of them is.
type Listener struct {
	net.Listener
	swept atomic.Pointer[sweep]

	// handler answers plain requests, nil for none here.
	handler                   http.Handler
	writeTimeout, idleTimeout time.Duration

	mu     sync.Mutex
	conns  map[*Conn]struct{}
	closed bool
	// ended is true once over is closed: a connection may be accepted while the listener is closed.
	ended bool
	over  chan struct{}
}

// sweep is the last one: when it was, and the instant before which a deadline can't wait for the next but one.
type sweep struct{ at, near time.Time }

func newSweep(now time.Time) *sweep { return &sweep{now, now.Add(4 * sweepEvery)} }

func newListener(on net.Listener) *Listener {
	l := &Listener{Listener: on, conns: map[*Conn]struct{}{}, over: make(chan struct{})}
	l.swept.Store(newSweep(time.Now()))
	go l.run()
	return l
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: accepted, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[c] = struct{}{}
	return c, nil
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		l.endIfLast()
	}
	l.mu.Unlock()
	return l.Listener.Close()
}

func (l *Listener) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.conns[c]; ok {
		delete(l.conns, c)
		l.endIfLast()
	}
}

// endIfLast is called with the lock held.
func (l *Listener) endIfLast() {
	if l.closed && len(l.conns) == 0 && !l.ended {
		l.ended = true
		close(l.over)
	}
}

func (l *Listener) run() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.over:
			return
		case now := <-tick.C:
			s := newSweep(now)
			l.swept.Store(s)
			for _, c := range l.open() {
				c.expire(s)
			}
		}
	}
}

func (l *Listener) open() []*Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*Conn, 0, len(l.conns))
	for c := range l.conns {
		all = append(all, c)
	}
	return all
}
