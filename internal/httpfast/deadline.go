package httpfast

import (
	"os"
	"sync"
	"time"
)

// sweepEvery is how late a deadline may be noticed.
const sweepEvery = 500 * time.Millisecond

// deadline is when reads, or writes, of a connection are to fail. net/http moves it eight times for each request, by
// minutes or seconds, and each time the runtime's timers are changed: 1.3 µs a request. Nearly none is ever reached, so it
// is only noted: the listener's sweep looks for those that are over, and one that is near becomes the connection's own when
// a read or a write begins or is under way.
type deadline struct {
	mu sync.Mutex
	// at is the instant, zero for none.
	at time.Time
	// busy is true while a read, or a write, is under way, set while the connection itself has a deadline.
	busy, set bool
}

// move changes the deadline, also of what is under way: this is how net/http interrupts a read.
func (d *deadline) move(t time.Time, s *sweep, conn func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = t
	if !d.busy {
		return nil
	}
	return d.apply(s, conn)
}

// enter begins a read or a write, and fails where its deadline is over.
func (d *deadline) enter(s *sweep, conn func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.at.IsZero() && d.at.Before(s.at) {
		return os.ErrDeadlineExceeded
	}
	d.busy = true
	return d.apply(s, conn)
}

func (d *deadline) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = false
}

// apply gives the connection a deadline that can't wait for the sweep, and takes back one that it has. The lock is held.
func (d *deadline) apply(s *sweep, conn func(time.Time) error) error {
	switch own := !d.at.IsZero() && d.at.Before(s.near); {
	case own:
		d.set = true
		return conn(d.at)
	case d.set:
		d.set = false
		return conn(time.Time{})
	}
	return nil
}

// expire lets the deadline take effect when it is over.
func (d *deadline) expire(s *sweep, conn func(time.Time) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy && !d.set {
		// It fails where the connection is closed, and with that the deadline has no use.
		_ = d.apply(s, conn)
	}
}

// receive reads from the connection.
func (c *Conn) receive(p []byte) (int, error) {
	if err := c.reads.enter(c.listener.swept.Load(), c.Conn.SetReadDeadline); err != nil {
		return 0, err
	}
	defer c.reads.leave()
	return c.Conn.Read(p)
}

// send writes to the connection.
func (c *Conn) send(p []byte) (int, error) {
	if err := c.writes.enter(c.listener.swept.Load(), c.Conn.SetWriteDeadline); err != nil {
		return 0, err
	}
	defer c.writes.leave()
	return c.Conn.Write(p)
}

// readUntil is SetReadDeadline.
func (c *Conn) readUntil(t time.Time) error {
	return c.reads.move(t, c.listener.swept.Load(), c.Conn.SetReadDeadline)
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	return c.writes.move(t, c.listener.swept.Load(), c.Conn.SetWriteDeadline)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *Conn) expire(s *sweep) {
	c.reads.expire(s, c.Conn.SetReadDeadline)
	c.writes.expire(s, c.Conn.SetWriteDeadline)
}
