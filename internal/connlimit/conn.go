package connlimit

import (
	"net"
	"net/netip"
	"sync/atomic"
)

// Conn is one client's connection.
type Conn struct {
	net.Conn

	listener *Listener
	// address is the network for which it counts, the zero Prefix for none.
	address netip.Prefix

	authenticated atomic.Bool
	// used is when it was used last, since the listener's start. It only grows.
	used atomic.Int64
	// writing is set while a response is sent on an unauthenticated connection.
	writing atomic.Bool

	// open, tenant and the places in the queues are guarded by the listener's lock.
	open bool
	// tenant is the one for whose share the connection counts, 0 for none.
	tenant int64
	places [2]place
}

// SetAuthenticated is to be called when a request on the connection has a valid key of that tenant. It has no effect while the tenant's
// share of authenticated connections is used up.
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

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	if !c.authenticated.Load() {
		c.writing.Store(true)
		defer c.writing.Store(false)
	}
	n, err := c.Conn.Write(p)
	c.touch()
	return n, err
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

// reset closes the connection so that nothing is left of it in the kernel.
func (c *Conn) reset() {
	if tcp, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Conn.Close()
}
