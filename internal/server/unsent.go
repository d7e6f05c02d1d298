package server

import (
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// maxUnsent is how many unsent bytes of a response the kernel keeps for a connection.
	maxUnsent = 64 << 10
	// clientTimeout is how long the kernel waits for a client that does not acknowledge bytes, or
	// has no room for them.
	clientTimeout = 30 * time.Second
)

// boundUnsent bounds the kernel's memory for each connection that a listener will accept.
func boundUnsent(l net.Listener) error {
	conn, err := l.(*net.TCPListener).SyscallConn()
	if err == nil {
		failed := conn.Control(func(fd uintptr) { err = setUnsent(int(fd), maxUnsent, clientTimeout) })
		err = errors.Join(err, failed)
	}
	if err != nil {
		return fmt.Errorf("bound the memory of connections to %v: %w", l.Addr(), err)
	}
	return nil
}
