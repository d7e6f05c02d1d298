package pgconn

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	connectTimeout = time.Second
	// briefRead bounds the wait for the reply to a request that a server answers at once or not at all: for TLS, or to
	// cancel a query. pq cancels a query when its time is over, and does not return from it before the reply.
	briefRead = 300 * time.Millisecond
)

// The codes of those requests. They are in the place of the protocol version.
const (
	cancelRequest = 80877102
	tlsRequest    = 80877103
)

// Dialer makes connections on which no read lasts longer than ReadTimeout. A context's deadline does not end a read from a
// server that hangs or over a network that is down; this does.
type Dialer struct {
	ReadTimeout time.Duration
	// opening is how long it may take until a session has begun.
	opening time.Duration
}

// Dial implements pq.Dialer.
func (d Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, connectTimeout)
}

// DialTimeout implements pq.Dialer.
func (d Dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// DialContext implements pq.DialerContext.
func (d Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTimeout}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &deadlineConn{Conn: conn, read: d.ReadTimeout}
	if socket, ok := conn.(syscall.Conn); ok {
		c.raw, _ = socket.SyscallConn() // nil with the error
	}
	if asked, ok := ctx.Value(socketKey{}).(**deadlineConn); ok {
		*asked = c
		c.opening = time.Now().Add(d.opening)
	}
	return c, nil
}

// socketKey is the context key of a **deadlineConn, which DialContext sets to the connection that it made.
type socketKey struct{}

type deadlineConn struct {
	net.Conn
	raw   syscall.RawConn
	read  time.Duration
	brief atomic.Bool // the last message written is answered at once
	// opening is when a session must have begun; zero when it has.
	opening time.Time
	// hung is called when nothing arrived in time, unless it is nil.
	hung func()
}

func (c *deadlineConn) Read(p []byte) (int, error) {
	limit := c.read
	if c.brief.Load() {
		limit = min(limit, briefRead)
	}
	end := c.opening
	if end.IsZero() {
		end = time.Now().Add(limit)
	}
	if err := c.SetReadDeadline(end); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if c.hung != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		c.hung()
	}
	return n, err
}

func (c *deadlineConn) Write(p []byte) (int, error) {
	c.brief.Store(isAnsweredAtOnce(p))
	return c.Conn.Write(p)
}

// isAnsweredAtOnce recognizes the message by its length and code: only a connection's first message begins with its length.
func isAnsweredAtOnce(message []byte) bool {
	if len(message) < 8 || int64(binary.BigEndian.Uint32(message)) != int64(len(message)) {
		return false
	}
	code := binary.BigEndian.Uint32(message[4:])
	return code == cancelRequest || code == tlsRequest
}
