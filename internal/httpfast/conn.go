package httpfast

import (
	"context"
	"net"
	"sync/atomic"
)

// Conn is one client's connection.
type Conn struct {
	net.Conn
	userData any

	listener *Listener

	// base is the context of what the connection's requests have in common.
	base context.Context
	from string
	// room is the length of net/http's buffer, phase what it does.
	room  int
	phase atomic.Int32
	// state is open but while a plain request is served.
	state atomic.Int32
}

// The states of a connection.
const (
	open int32 = iota
	serving
	// closing is a connection that was closed while it served, and is open until that is done.
	closing
	closed
)

// leave ends the state of serving, and reports whether the connection was closed meanwhile.
func (c *Conn) leave() bool { return c.state.Swap(open) == closing }

// remote is the client's address and port.
func (c *Conn) remote() string {
	if c.from == "" {
		c.from = c.RemoteAddr().String()
	}
	return c.from
}

// Close implements net.Conn. A connection that serves a plain request, which only a server that ends can mean to close, is closed when the
// request is answered.
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

// CloseWrite implements what net/http looks for when it ends a connection whose client still sends.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
