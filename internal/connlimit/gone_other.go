//go:build !linux

package connlimit

// peerClosed returns false, because poll has no POLLRDHUP here.
func peerClosed(int) bool { return false }
