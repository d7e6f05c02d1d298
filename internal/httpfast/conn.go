package httpfast

import (
	"context"
	"net"
	"sync/atomic"
)

// Conn is one client's connection.
type Conn struct {
	net.Conn

	listener *Listener

	// base is the parent of the contexts of the connection's requests.
	base context.Context
	from string
	// room is the length of net/http's buffer. phase is what net/http is doing.
	room  int
	phase atomic.Int32
	// state is open, except while a fast request is served.
	state atomic.Int32
}

// The states of a connection. closing: it was closed while it served a request, and stays open
// until the response is sent.
const (
	open int32 = iota
	serving
	// closing is a connection that was closed while it served a request. It stays open until the
	// response is sent.
	closing
	closed
)

// leave ends the state serving, and reports whether the connection was closed meanwhile.
func (c *Conn) leave() bool { return c.state.Swap(open) == closing }

// remote returns the client's address and port.
func (c *Conn) remote() string {
	if c.from == "" {
		c.from = c.RemoteAddr().String()
	}
	return c.from
}

// Close implements net.Conn. While a fast request is served, only a server that shuts down closes
// its connection. The connection is then closed after the response.
func (c *Conn) Close() error {
	for {
		switch state := c.state.Load(); {
		case state == closing, state == serving && c.state.CompareAndSwap(serving, closing):
			return nil
		case state != serving && c.state.CompareAndSwap(state, closed):
			c.listener.forget(c)
			return c.Conn.Close()
		}
	}
}

// CloseWrite is called by net/http when it ends a connection whose client still sends.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
