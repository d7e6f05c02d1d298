package store

import (
	"context"
	"net"
	"time"
)

const connectTimeout = time.Second

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
	return &deadlineConn{Conn: conn, read: d.read}, nil
}

type deadlineConn struct {
	net.Conn
	read time.Duration
}

func (c *deadlineConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.read)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
