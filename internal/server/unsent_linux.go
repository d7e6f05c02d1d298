package server

import (
	"time"

	"golang.org/x/sys/unix"
)

// setUnsent bounds the bytes that wait in the kernel to be sent, and how long the kernel waits for
// a client. Both also hold for closed connections.
func setUnsent(fd, most int, timeout time.Duration) error {
	if err := unix.SetsockoptInt(
		fd,
		unix.IPPROTO_TCP,
		unix.TCP_USER_TIMEOUT,
		int(timeout.Milliseconds()),
	); err != nil {
		return err
	}
	if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, most) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, most) // gVisor has no TCP_NOTSENT_LOWAT.
}
