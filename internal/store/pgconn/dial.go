package pgconn

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

const connectTimeout = time.Second

// The codes of two requests. A request has its code in place of the protocol version.
const (
	cancelRequest = 80877102
	tlsRequest    = 80877103
)

// replyLimits bound the wait for the reply to these requests, which comes soon or never. When a
// query's time is over, pq cancels it, and returns after that reply. For TLS, Postgres has to start
// a process first.
var replyLimits = map[uint32]time.Duration{cancelRequest: 300 * time.Millisecond, tlsRequest: connectTimeout}

// Dialer makes connections on which no read lasts longer than ReadTimeout. A context's deadline
// does not end a read from a server that hangs, or over a network that is down.
type Dialer struct {
	ReadTimeout time.Duration
	// opening is how long a session may take to begin.
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

// socketKey is the context key of a **deadlineConn. DialContext stores its connection there.
type socketKey struct{}

type deadlineConn struct {
	net.Conn
	raw   syscall.RawConn
	read  time.Duration
	reply atomic.Int64 // the time limit of the reply to the last message, if that has its own
	// opening is the time by which a session must have begun; zero once it has.
	opening time.Time
	// hung is called if nothing arrived in time, unless it is nil.
	hung func()
}

func (c *deadlineConn) Read(p []byte) (int, error) {
	end := c.opening
	if end.IsZero() {
		end = time.Now().Add(min(c.read, cmp.Or(time.Duration(c.reply.Load()), c.read)))
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
	c.reply.Store(int64(replyLimit(p)))
	return c.Conn.Write(p)
}

// replyLimit returns the message's limit in replyLimits, 0 for none. It knows the message by its
// length and code: only a connection's first message begins with its length.
func replyLimit(message []byte) time.Duration {
	if len(message) < 8 || int64(binary.BigEndian.Uint32(message)) != int64(len(message)) {
		return 0
	}
	return replyLimits[binary.BigEndian.Uint32(message[4:])]
}
