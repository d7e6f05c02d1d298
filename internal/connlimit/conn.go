package connlimit

import (
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// chunk is the number of bytes of a response that are written at once.
const chunk = 32 << 10

// Conn is one client's connection.
type Conn struct {
	net.Conn

	listener *Listener
	// address is the network that the connection counts for, the zero Prefix for none.
	address netip.Prefix

	authenticated atomic.Bool
	// used is the time of its last use since the listener's start. It only grows.
	used atomic.Int64
	// writing is the number of bytes being written on an unauthenticated connection.
	writing atomic.Int64
	// own has the connections of the same address, nil for none.
	own *queue

	// open, tenant and the places in the queues are guarded by the listener's lock.
	open bool
	// tenant is the tenant whose share the connection uses, 0 for none.
	tenant int64
	places [2]place
}

// SetAuthenticated is called when a request on the connection has a valid key of that tenant. It
// has no effect while the tenant's share of authenticated connections is used up.
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

// Write implements net.Conn. If it fails, the connection is reset: otherwise the kernel would keep
// what the client does not take.
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

// CloseWrite is called by net/http when it ends a connection whose client still sends.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// touch records a use of the connection.
func (c *Conn) touch() {
	if now := c.listener.clock.Load(); c.used.Load() < now {
		c.used.Store(now)
	}
}

// unsent returns the number of bytes that the client has not acknowledged, including those being
// written.
func (c *Conn) unsent() (n int64) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { // A closed connection has no unsent bytes.
				queued, _ := unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
				n = int64(queued)
			})
		}
	}
	return n + c.writing.Load()
}

// Gone reports whether the client has closed the connection, or the half on which it sends, even if
// it sent something before. This is only known on Linux.
func (c *Conn) Gone() bool {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = raw.Control(func(fd uintptr) { gone = peerClosed(int(fd)) })
	return gone || err != nil // An error means that the connection is closed.
}

// drop closes the connection in favour of others. Whoever reads or writes it gets an error.
func (c *Conn) drop() {
	if c.unsent() > 0 {
		c.reset()
		return
	}
	_ = c.Conn.Close()
}

// reset closes the connection and frees what the kernel holds for it.
func (c *Conn) reset() {
	if tcp, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Conn.Close()
}
