package main

import "golang.org/x/sys/unix"

// setUnsent bounds what waits in the kernel to be sent, and for how long the kernel waits for a
// client. That is also for connections that are closed.
func setUnsent(fd int) error {
	if err := unix.SetsockoptInt(
		fd,
		unix.IPPROTO_TCP,
		unix.TCP_USER_TIMEOUT,
		int(clientTimeout.Milliseconds()),
	); err != nil {
		return err
	}
	if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent) == nil {
		return nil
	}
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, maxUnsent) // gVisor has no TCP_NOTSENT_LOWAT.
}
