//go:build !linux

package main

import "golang.org/x/sys/unix"

// setUnsent bounds what waits in the kernel to be sent.
func setUnsent(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, maxUnsent)
}
