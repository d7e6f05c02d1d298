package httpfast

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// longAgo is a deadline that is over.
var longAgo = time.Unix(1, 0)

// WrapServer returns a listener for that server to serve, which answers plain requests by itself: GET and HEAD without a body, by a
// client that goes on with its connection. They take half of the time that net/http takes for them. Everything else it
// leaves to the server, on the same connection and in the same order: other requests, each connection's first, and whatever
// is not plain. The server's Handler and timeouts are to be set before; its ConnContext and ConnState are replaced.
//
// A plain request differs for the handler in this. It is not to be used after the handler has returned, nor is its header or the
// answer's writer; a string of it that is kept holds on to all of its head. The answer's writer can do nothing but write: what Gin or
// http.ResponseController do to flush or to hijack fails. The context learns of a client that hangs up only once its Done was called.
//
// The server's Close does not interrupt plain requests under way: WaitIdle does.
func WrapServer(s *http.Server, on net.Listener) *Listener {
	l := newListener(on)
	l.handler, l.writeTimeout, l.idleTimeout = s.Handler, s.WriteTimeout, s.IdleTimeout
	if l.handler == nil {
		l.handler = http.DefaultServeMux
	}
	if l.idleTimeout == 0 {
		l.idleTimeout = s.ReadTimeout
	}
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if own, ok := c.(*Conn); ok {
			own.base = ctx
		}
		return ctx
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if own, ok := c.(*Conn); ok {
			own.phase.Store(busy)
			if state == http.StateIdle {
				own.phase.Store(ended)
			}
		}
	}
	return l
}

// WaitIdle waits until the last connection is closed, after the server's Shutdown: that does not know of plain requests, and what it
// closes is open until the request under way is answered. When ctx ends before, WaitIdle closes what is left and returns ctx's error.
func (l *Listener) WaitIdle(ctx context.Context) error {
	select {
	case <-l.over:
		return nil
	case <-ctx.Done():
	}
	for _, c := range l.open() {
		_ = c.Conn.Close() // Who uses it still hears of it.
	}
	return ctx.Err()
}

// The phases of a connection, by what net/http does with it: between two requests it says that it is idle, sets the deadline for the next
// request, waits for its first bytes, and sets the deadline for the rest of its head.
const (
	busy int32 = iota
	ended
	waiting
)

// Read implements net.Conn. What net/http reads while it waits for a request, into a buffer that is empty, is the beginning of
// one: what is plain of it net/http does not get to see. Any other bytes may be the middle of a request, and are never looked
// at.
//
// Both conditions are needed. While net/http waits, its buffer may hold the first bytes of the request already: the one that it read
// while it listened for the client's hanging up, or up to three that came behind the last request. Then it reads into what is left of the
// buffer, which is shorter. And in the midst of a request it may well read into all of it, but then it does not wait.
func (c *Conn) Read(p []byte) (int, error) {
	if c.room == 0 {
		// The first read is into all of the buffer.
		c.room = len(p)
	}
	if c.phase.Swap(busy) != waiting || len(p) != c.room {
		return c.receive(p)
	}
	for {
		n, err := c.receive(p)
		if err != nil {
			return n, err
		}
		if n, err = c.serveFast(p, n); n > 0 || err != nil {
			return n, err
		}
	}
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if !c.phase.CompareAndSwap(ended, waiting) {
		c.phase.Store(busy)
	}
	return c.readUntil(t)
}

// serveFast answers the plain requests that the first n bytes of p begin with. What is left it moves to the front of p, and returns how
// much that is.
func (c *Conn) serveFast(p []byte, n int) (left int, err error) {
	for n > 0 {
		x := exchanges.Get().(*exchange)
		length, ok := x.request.read(p[:n])
		if !ok {
			exchanges.Put(x)
			return n, nil
		}
		ahead, err := c.serve(x)
		if err != nil {
			return 0, err
		}
		n = copy(p, p[length:n])
		n += copy(p[n:], ahead)
	}
	return 0, nil
}

// exchange is a plain request and its answer. One that ended well is used again.
type exchange struct {
	request  fastRequest
	response responseWriter
}

var exchanges = sync.Pool{New: func() any {
	return &exchange{request: fastRequest{header: http.Header{}}, response: responseWriter{header: http.Header{}}}
}}

// maxPooled is the most room, in bytes, that is kept for the next answer.
const maxPooled = 64 << 10

// serve has the handler answer, and writes the answer. An error is the connection's end.
func (c *Conn) serve(x *exchange) (ahead []byte, err error) {
	if !c.state.CompareAndSwap(open, serving) {
		return nil, net.ErrClosed
	}
	ahead = c.handle(x)
	now, a := time.Now(), &x.response
	if d := c.listener.writeTimeout; d > 0 {
		_ = c.SetWriteDeadline(now.Add(d))
	}
	a.closes = a.closes || c.state.Load() == closing
	_, err = c.send(a.finish(now))
	if c.leave() || a.closes || err != nil {
		// net/http takes it for the client's end, and closes the connection.
		return nil, io.EOF
	}
	if cap(a.out)+cap(a.body) <= maxPooled {
		a.empty()
		exchanges.Put(x)
	}
	var idle time.Time
	if d := c.listener.idleTimeout; d > 0 {
		idle = now.Add(d)
	}
	return ahead, c.readUntil(idle)
}

// handle calls the handler. When that panics it is net/http that closes the connection.
func (c *Conn) handle(x *exchange) (ahead []byte) {
	ctx := &requestContext{Context: c.base, conn: c}
	done := false
	defer func() {
		if !done {
			ctx.end()
			c.leave()
		}
	}()
	x.response.method, x.response.conn = x.request.method, c
	c.listener.handler.ServeHTTP(&x.response, x.request.forHandler(c).WithContext(ctx))
	done = true
	return ctx.end()
}
