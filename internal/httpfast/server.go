package httpfast

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// longAgo is a deadline in the past.
var longAgo = time.Unix(1, 0)

// WrapServer returns a listener for the server to serve. Its connections serve fast requests by
// themselves: GET and HEAD without a body, as most clients write them. The server serves all
// others, on the same connection and in the same order: each connection's first request, requests
// with a body, and whatever is unusual. Set the server's Handler, ConnContext and timeouts before
// the call. WrapServer replaces ConnState. It calls ConnContext with the connections that on
// accepted.
//
// For the handler a fast request differs in three ways. The request, its header and its
// ResponseWriter must not be used after the handler has returned, and a string kept from the
// request keeps the request's whole head in memory. The ResponseWriter can't flush or hijack. The
// context notices that a client disconnects only after Done was called.
//
// A timeout may end up to 1/16 early. The server's Close does not interrupt fast requests; WaitIdle
// does.
func WrapServer(s *http.Server, on net.Listener) *Listener {
	l := &Listener{Listener: on, conns: map[*Conn]struct{}{}, over: make(chan struct{})}
	l.handler, l.writeTimeout, l.idleTimeout = s.Handler, s.WriteTimeout, s.IdleTimeout
	if l.handler == nil {
		l.handler = http.DefaultServeMux
	}
	if l.idleTimeout == 0 {
		l.idleTimeout = s.ReadTimeout
	}
	l.slack = l.writeTimeout / 16
	if d := l.idleTimeout / 16; l.slack == 0 || 0 < d && d < l.slack {
		l.slack = d
	}
	connContext := s.ConnContext
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		own, ok := c.(*Conn)
		if ok {
			c = own.Conn
		}
		if connContext != nil {
			ctx = connContext(ctx, c)
		}
		if ok {
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

// WaitIdle waits until the last connection is closed. Call it after the server's Shutdown, which
// does not know of fast requests: a connection that Shutdown closes stays open until its fast
// request is answered. If ctx ends first, WaitIdle closes the remaining connections and returns
// ctx's error.
func (l *Listener) WaitIdle(ctx context.Context) error {
	select {
	case <-l.over:
		return nil
	case <-ctx.Done():
	}
	for _, c := range l.open() {
		_ = c.Conn.Close() // The connection's reader or writer gets the error.
	}
	return ctx.Err()
}

// The phases of a connection. Between two requests net/http reports that it is idle, sets the
// deadline for the next request, waits for its first bytes, and sets the deadline for the rest of
// its head.
const (
	busy int32 = iota
	ended
	waiting
)

// Read implements net.Conn. If net/http waits for a request and reads into its whole buffer, the
// bytes are the beginning of a request. Then Read serves the fast requests among them, and net/http
// does not see these. Any other bytes may be the middle of a request and are passed on.
//
// Both conditions are needed. While net/http waits, its buffer may already hold the first bytes of
// the request: one byte that it read while it watched for a disconnect, or up to three bytes that
// followed the last request. Then it reads into the rest of the buffer. In the middle of a request
// it may read into the whole buffer, but then it does not wait.
func (c *Conn) Read(p []byte) (int, error) {
	if c.room == 0 {
		// The first read is into the whole buffer.
		c.room = len(p)
	}
	if c.phase.Swap(busy) != waiting || len(p) != c.room {
		return c.Conn.Read(p)
	}
	var moved time.Time
	for {
		n, err := c.Conn.Read(p)
		if err != nil {
			return n, err
		}
		if n, err = c.serveFast(p, n, &moved); n > 0 || err != nil {
			return n, err
		}
	}
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if !c.phase.CompareAndSwap(ended, waiting) {
		c.phase.Store(busy)
	}
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	c.phase.Store(busy)
	return c.Conn.SetDeadline(t)
}

// serveFast serves the fast requests at the beginning of the first n bytes of p. It moves the rest
// to the front of p, and returns the length of the rest. moved is when the connection's deadlines
// were last set.
func (c *Conn) serveFast(p []byte, n int, moved *time.Time) (left int, err error) {
	for n > 0 {
		x := exchanges.Get().(*exchange)
		length, ok := x.request.read(p[:n])
		if !ok {
			exchanges.Put(x)
			return n, nil
		}
		ahead, err := c.serve(x, moved)
		if err != nil {
			return 0, err
		}
		n = copy(p, p[length:n])
		n += copy(p[n:], ahead)
	}
	return 0, nil
}

// exchange is a fast request and its response. It is reused unless an error ended it.
type exchange struct {
	request  fastRequest
	response responseWriter
}

var exchanges = sync.Pool{New: func() any {
	return &exchange{request: fastRequest{header: http.Header{}}, response: responseWriter{header: http.Header{}}}
}}

// maxPooled is the largest response, in bytes, whose buffers are reused.
const maxPooled = 64 << 10

// serve calls the handler and writes the response. An error ends the connection.
func (c *Conn) serve(x *exchange, moved *time.Time) (ahead []byte, err error) {
	if !c.state.CompareAndSwap(open, serving) {
		return nil, net.ErrClosed
	}
	ahead, watched := c.handle(x)
	now, w := time.Now(), &x.response
	isLong := w.sent
	if !w.sent {
		if watched || now.Sub(*moved) > c.listener.slack {
			*moved = now
			c.moveDeadlines(now)
		}
		w.closes = w.closes || c.state.Load() == closing
		out := w.finish(now)
		_, w.err = c.Write(out)
		isLong = len(out) > maxPooled
	}
	if isLong {
		// The client may have taken long to read the response. It still gets the whole time for its
		// next request.
		*moved = time.Now()
		c.moveDeadlines(*moved)
	}
	if c.leave() || w.closes || w.err != nil {
		// net/http takes this for the end of the client's requests, and closes the connection.
		return nil, io.EOF
	}
	if cap(w.out)+cap(w.body) <= maxPooled {
		w.empty()
		exchanges.Put(x)
	}
	return ahead, nil
}

// moveDeadlines sets the deadlines for writing a response and for reading the next request. A
// connection that can't have deadlines fails when it is used.
func (c *Conn) moveDeadlines(now time.Time) {
	if d := c.listener.writeTimeout; d > 0 {
		_ = c.SetWriteDeadline(now.Add(d))
	}
	var idle time.Time
	if d := c.listener.idleTimeout; d > 0 {
		idle = now.Add(d)
	}
	_ = c.Conn.SetReadDeadline(idle)
}

// handle calls the handler. If the handler panics, net/http closes the connection.
func (c *Conn) handle(x *exchange) (ahead []byte, watched bool) {
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
