package httpfast

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Listener accepts connections that serve fast requests by themselves.
type Listener struct {
	net.Listener

	handler                   http.Handler
	writeTimeout, idleTimeout time.Duration
	// slack is by how much a deadline may be out of date, so that most requests need not set one:
	// 1/16 of the shorter timeout.
	slack time.Duration

	mu     sync.Mutex
	conns  map[*Conn]struct{}
	closed bool
	// ended is true once over is closed. A connection may still be accepted while the listener is
	// closed.
	ended bool
	over  chan struct{}
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

// endIfLast closes over after the last connection. It is called with the lock held.
func (l *Listener) endIfLast() {
	if l.closed && len(l.conns) == 0 && !l.ended {
		l.ended = true
		close(l.over)
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
