package wire

import (
	"sync"
	"time"
)

// sweepEvery is how late a deadline may be noticed.
const sweepEvery = 500 * time.Millisecond

// deadline is when reads, or writes, of a connection are to fail. net/http moves it eight times for each request, by
// minutes or seconds, and each time the runtime's timers are changed: 1.3 µs a request. Nearly none is ever reached, so it
// is only noted, and the listener's sweep looks for those that are over.
type deadline struct {
	mu sync.Mutex
	// at is the instant, zero for none.
	at time.Time
	// set is true while the connection itself has a deadline.
	set bool
}

// move changes the deadline. One that is over or near is the connection's own at once: this is how net/http interrupts a
// read.
func (d *deadline) move(t, near time.Time, conn func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = t
	own := !t.IsZero() && t.Before(near)
	switch {
	case own:
		d.set = true
		return conn(t)
	case d.set:
		d.set = false
		return conn(time.Time{})
	}
	return nil
}

// sweep lets the deadline take effect when it is over.
func (d *deadline) sweep(now time.Time, conn func(time.Time) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.set && !d.at.IsZero() && d.at.Before(now) {
		d.set = true
		// It fails where the connection is closed, and with that the deadline has no use.
		_ = conn(d.at)
	}
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	return c.reads.move(t, c.listener.near(), c.Conn.SetReadDeadline)
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.writes.move(t, c.listener.near(), c.Conn.SetWriteDeadline)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *Conn) sweep(now time.Time) {
	c.reads.sweep(now, c.Conn.SetReadDeadline)
	c.writes.sweep(now, c.Conn.SetWriteDeadline)
}
