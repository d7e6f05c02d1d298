package freeport

import (
	"fmt"
	"net"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// Address returns the host and port of a free address of the loopback interface.
func Address(t testing.TB) string {
	t.Helper()
	port, release, err := hold()
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	if runtime.GOOS == "linux" {
		t.Cleanup(release)
	} else {
		release()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// hold binds a socket to a free port.
func hold() (port int, release func(), err error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, nil, fmt.Errorf("socket: %w", err)
	}
	release = func() { _ = syscall.Close(fd) }
	if port, err = bind(fd); err != nil {
		release()
	}
	return port, release, err
}

func bind(fd int) (port int, err error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, fmt.Errorf("set SO_REUSEADDR: %w", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, fmt.Errorf("bind: %w", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, fmt.Errorf("getsockname: %w", err)
	}
	return name.(*syscall.SockaddrInet4).Port, nil
}
