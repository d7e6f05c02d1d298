package redisbackend

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// errNotMaster: a server became a replica.
var errNotMaster = errors.New("not master")

// conns are the connections to one address. The address may lead to another server than when they
// were made.
type conns struct {
	mu   sync.Mutex
	open map[*conn]struct{}
}

type conn struct {
	net.Conn
	of *conns
}

// dialer returns a dialer for a client of one address. It adds each connection to c.
func (c *conns) dialer(o *redis.UniversalOptions) func(context.Context, string, string) (net.Conn, error) {
	c.open = map[*conn]struct{}{}
	dial := redis.NewDialer(o.Simple())
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		made, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		one := &conn{made, c}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[one] = struct{}{}
		return one, nil
	}
}

// leave closes all connections after an error that says that they lead to a replica, so that the
// next call dials again. go-redis does so only after a READONLY error.
func (c *conns) leave(err error) {
	if c == nil || !errors.Is(err, errNotMaster) && !redis.IsMasterDownError(err) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.open {
		_ = one.Conn.Close()
	}
	clear(c.open)
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.open, c)
	return c.Conn.Close()
}

// SyscallConn implements syscall.Conn: go-redis looks at a connection before it uses it.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	c.of.mu.Lock()
	_, open := c.of.open[c]
	c.of.mu.Unlock()
	if !open {
		return nil, net.ErrClosed
	}
	if plain, ok := c.Conn.(syscall.Conn); ok {
		return plain.SyscallConn()
	}
	return unread{}, nil
}

// unread stands for a TLS connection. It lets go-redis look for unread bytes, and never finds any:
// only TLS may read the socket.
type unread struct{ syscall.RawConn }

func (unread) Read(func(uintptr) bool) error { return nil }
