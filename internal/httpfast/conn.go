package httpfast

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// Conn is one client's connection.
type Conn struct {
	net.Conn
	// Head is header lines for the answer that is about to be written, each complete and ended by CRLF. It is set before the
	// answer's first byte is, by the handler, and emptied with it: its room, unless it is large, is there to be used again.
	Head []byte
	// Kept is what a handler leaves for the next request of the same connection; nil at first.
	Kept any

	reads, writes deadline
	listener      *Listener

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

// keptHead is the most room, in bytes, that is kept for the next Head. A client can have one of 50 KB made, by a query that all
// links repeat, and then leave its connection idle.
const keptHead = 4 << 10

// keptOutgoing is the most room that is kept for other answers.
const keptOutgoing = 16 << 10

type connKey struct{}

// Context is an http.Server's ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	if own, ok := c.(*Conn); ok {
		own.base = context.WithValue(ctx, connKey{}, own)
		return own.base
	}
	return ctx
}

// From returns the connection of a request by its context; nil when it is not one of a Listener.
func From(ctx context.Context) *Conn {
	if plain, ok := ctx.(*requestContext); ok {
		return plain.conn
	}
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// outgoing holds what is written in one piece: an answer's head and as much of its body as net/http's buffer of 4 KiB has.
var outgoing = sync.Pool{New: func() any {
	b := make([]byte, 0, 8<<10)
	return &b
}}

// Write implements net.Conn. net/http has written the answer before whole when the next one's handler begins, so what
// comes when there is a Head begins with the status line that the Head belongs behind.
func (c *Conn) Write(p []byte) (int, error) {
	if len(c.Head) == 0 {
		return c.send(p)
	}
	status := bytes.IndexByte(p, '\n') + 1
	b := outgoing.Get().(*[]byte)
	*b = append(append(append((*b)[:0], p[:status]...), c.takeHead()...), p[status:]...)
	if cap(*b) <= keptOutgoing {
		defer outgoing.Put(b)
	}
	if _, err := c.send(*b); err != nil {
		// How much of it arrived nobody asks: the connection is at its end.
		return 0, err
	}
	return len(p), nil
}

// takeHead returns the Head, for this answer and no other. It is good until the next one is left.
func (c *Conn) takeHead() []byte {
	head := c.Head
	c.Head = head[:0]
	if cap(head) > keptHead {
		c.Head = nil
	}
	return head
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
