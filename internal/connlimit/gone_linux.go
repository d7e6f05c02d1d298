package connlimit

import "golang.org/x/sys/unix"

// peerClosed reports whether the other end of a socket has ended its sending. It takes half a
// microsecond.
func peerClosed(fd int) bool {
	socket := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(socket, 0)
	return err == nil && n > 0
}
