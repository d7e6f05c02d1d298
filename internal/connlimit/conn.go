package connlimit

import (
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// chunk is how many bytes of a response are written at once.
const chunk = 32 << 10

// Conn is one client's connection.
type Conn struct {
	net.Conn

	listener *Listener
	// address is the network for which it counts, the zero Prefix for none.
	address netip.Prefix

	authenticated atomic.Bool
	// used is when it was used last, since the listener's start. It only grows.
	used atomic.Int64
	// writing is how many bytes are being written on an unauthenticated connection.
	writing atomic.Int64
	// own are the connections of its address, nil for none.
	own *queue

	// open, tenant and the places in the queues are guarded by the listener's lock.
	open bool
	// tenant is the one for whose share the connection counts, 0 for none.
	tenant int64
	places [2]place
}

// SetAuthenticated is to be called when a request on the connection has a valid key of that tenant.
// It has no effect while the tenant's share of authenticated connections is used up.
func (c *Conn) SetAuthenticated(tenantID int64) {
	if !c.authenticated.Load() {
		c.listener.authenticate(c, tenantID)
	}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.authenticated.Load() {
		c.touch()
	}
	return n, err
}

// Write implements net.Conn. If it fails, the connection is reset: the kernel would keep what its
// client does not take.
func (c *Conn) Write(p []byte) (written int, err error) {
	for {
		part := p[written:min(len(p), written+chunk)]
		known := c.authenticated.Load()
		if !known {
			c.writing.Store(int64(len(part)))
			c.listener.reserve(c, int64(len(part)))
		}
		n, err := c.Conn.Write(part)
		if !known {
			c.writing.Store(0)
		}
		c.touch()
		if err != nil {
			c.reset()
		}
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.listener.remove(c)
	return err
}

// CloseWrite is what net/http calls when it ends a connection whose client still sends.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// touch notes that the connection is used.
func (c *Conn) touch() {
	if now := c.listener.clock.Load(); c.used.Load() < now {
		c.used.Store(now)
	}
}

// unsent returns how many bytes its client has not acknowledged, those that are being written
// included.
func (c *Conn) unsent() (n int64) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { // It fails if the connection is closed, and then nothing is left.
				queued, _ := unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
				n = int64(queued)
			})
		}
	}
	return n + c.writing.Load()
}

// drop closes the connection in favour of others. Its user gets the error.
func (c *Conn) drop() {
	if c.unsent() > 0 {
		c.reset()
		return
	}
	_ = c.Conn.Close()
}

// reset closes the connection so that nothing is left of it in the kernel.
func (c *Conn) reset() {
	if tcp, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Conn.Close()
}
