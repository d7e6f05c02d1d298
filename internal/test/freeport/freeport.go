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
	addr, release, err := Hold()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return addr
}

// Hold returns a free address as Address does. No other program gets it before release is called.
func Hold() (addr string, release func(), err error) {
	port, release, err := hold()
	if err != nil {
		return "", nil, fmt.Errorf("find a free port: %w", err)
	}
	if runtime.GOOS != "linux" {
		release()
		release = func() {}
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), release, nil
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
