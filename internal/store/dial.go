package store

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	connectTimeout = time.Second
	// briefRead bounds the wait for the answer to a request that a server answers at once or not at all: for TLS, or to
	// cancel a query. pq sends the latter when a query's time is over and holds up the query's end until it is answered.
	briefRead = 300 * time.Millisecond
)

// The codes of those requests, which stand where others have their protocol's version.
const (
	cancelRequest = 80877102
	tlsRequest    = 80877103
)

// deadlineDialer makes connections on which no read lasts longer than a given time. A context's deadline does not
// unblock a read from a server that hangs or a network that went away; this does.
type deadlineDialer struct{ read time.Duration }

func (d deadlineDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, connectTimeout)
}

func (d deadlineDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// DialContext implements pq.DialerContext.
func (d deadlineDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTimeout}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &deadlineConn{Conn: conn, read: d.read}
	if socket, ok := conn.(syscall.Conn); ok {
		c.raw, _ = socket.SyscallConn() // nil with the error
	}
	if asked, ok := ctx.Value(socketKey{}).(**deadlineConn); ok {
		*asked = c
	}
	return c, nil
}

// socketKey is the context key of where to tell who connects which socket it became.
type socketKey struct{}

type deadlineConn struct {
	net.Conn
	raw   syscall.RawConn
	read  time.Duration
	brief atomic.Bool // whether what was written last is answered at once
}

// quiet reports whether the connection is open and nothing has come that nobody asked for, as far as this machine knows. Postgres
// says something to an idle connection only when it ends it. It takes 0.4 µs.
func (c *deadlineConn) quiet() bool {
	if c.raw == nil {
		return true
	}
	quiet := false
	err := c.raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
	})
	return err == nil && quiet
}

func (c *deadlineConn) Read(p []byte) (int, error) {
	limit := c.read
	if c.brief.Load() {
		limit = min(limit, briefRead)
	}
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *deadlineConn) Write(p []byte) (int, error) {
	c.brief.Store(isAnsweredAtOnce(p))
	return c.Conn.Write(p)
}

// isAnsweredAtOnce knows the message by its length and code: only those that open a connection begin with their length.
func isAnsweredAtOnce(message []byte) bool {
	if len(message) < 8 || int64(binary.BigEndian.Uint32(message)) != int64(len(message)) {
		return false
	}
	code := binary.BigEndian.Uint32(message[4:])
	return code == cancelRequest || code == tlsRequest
}
