//go:build !linux

package server

import (
	"time"

	"golang.org/x/sys/unix"
)

// setUnsent bounds the bytes that wait in the kernel to be sent.
func setUnsent(fd, most int, _ time.Duration) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, most)
}
