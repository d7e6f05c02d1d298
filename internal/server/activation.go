package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"
)

// handedOver returns the sockets that systemd listens on for this process, by the names api and
// admin: socket activation. systemd keeps them open while a server restarts, and connections wait
// there. It closes the sockets that it refuses.
func handedOver() (map[string]net.Listener, error) {
	files := activation.Files(true)
	sockets := map[string]net.Listener{}
	for _, f := range files {
		name := f.Name()
		// A single socket without FileDescriptorName has that of its unit.
		if len(files) == 1 && name != "admin" {
			name = "api"
		}
		if err := takeSocket(sockets, name, f); err != nil {
			for _, l := range sockets {
				err = errors.Join(err, l.Close())
			}
			return nil, err
		}
	}
	return sockets, nil
}

func takeSocket(sockets map[string]net.Listener, name string, f *os.File) error {
	defer f.Close()
	switch {
	case name != "api" && name != "admin":
		return fmt.Errorf("systemd hands over a socket named %q: name it api or admin (FileDescriptorName=)", name)
	case sockets[name] != nil:
		return fmt.Errorf(
			"systemd hands over two sockets named %s: use one, ListenStream=PORT, for IPv4 and IPv6",
			name,
		)
	}
	if !listens(f) {
		return fmt.Errorf(
			"systemd hands over a socket named %s that does not listen: use ListenStream= and Accept=no",
			name,
		)
	}
	l, err := net.FileListener(f)
	if err != nil {
		return fmt.Errorf("systemd hands over a socket named %s: %w", name, err)
	}
	if _, ok := l.(*net.TCPListener); !ok {
		return errors.Join(
			fmt.Errorf("systemd hands over a socket named %s that is not TCP: use ListenStream=PORT", name),
			l.Close(),
		)
	}
	sockets[name] = l
	return nil
}

// isAddr reports whether a socket listens on the address of a setting. The unspecified addresses of
// IPv4 and IPv6 are the same.
func isAddr(socket net.Addr, addr string) bool {
	got, ok := socket.(*net.TCPAddr)
	want, err := net.ResolveTCPAddr("tcp", addr)
	if !ok || err != nil || got.Port != want.Port {
		return false
	}
	anywhere := func(ip net.IP) bool { return ip == nil || ip.IsUnspecified() }
	return got.IP.Equal(want.IP) || anywhere(got.IP) && anywhere(want.IP)
}

// listens reports whether a file is a socket that listens. It leaves the file's blocking mode
// alone, which other processes share.
func listens(f *os.File) bool {
	value := 0
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	failed := conn.Control(func(fd uintptr) {
		value, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	})
	return failed == nil && err == nil && value != 0
}
