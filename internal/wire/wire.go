package wire

import (
	"bytes"
	"context"
	"net"
	"sync"
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
	listener      *listener
}

// keptHead is the most room, in bytes, that is kept for the next Head. A client can have one of 50 KB made, by a query that all
// links repeat, and then leave its connection idle.
const keptHead = 4 << 10

type connKey struct{}

// Context is an http.Server's ConnContext.
func Context(ctx context.Context, c net.Conn) context.Context {
	if own, ok := c.(*Conn); ok {
		return context.WithValue(ctx, connKey{}, own)
	}
	return ctx
}

// From returns the connection of a request by its context; nil when it is not one of a Listener.
func From(ctx context.Context) *Conn {
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
	*b = append(append(append((*b)[:0], p[:status]...), c.Head...), p[status:]...)
	if cap(c.Head) <= keptHead {
		c.Head = c.Head[:0]
		defer outgoing.Put(b)
	} else {
		c.Head = nil
	}
	if _, err := c.send(*b); err != nil {
		// How much of it arrived nobody asks: the connection is at its end.
		return 0, err
	}
	return len(p), nil
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.listener.forget(c)
	return c.Conn.Close()
}

// CloseWrite implements what net/http looks for when it ends a connection whose client still sends.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
