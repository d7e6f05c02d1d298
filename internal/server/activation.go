package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/coreos/go-systemd/v22/activation"
	"golang.org/x/sys/unix"

	"petstore.example/internal/server/config"
)

// handedOver returns the sockets that systemd listens on for this process (socket activation), by
// the names api and admin. systemd keeps them open while a server restarts, and connections wait
// there. handedOver closes the sockets that it refuses.
func handedOver() (map[string]net.Listener, error) {
	files := activation.Files(true)
	sockets := map[string]net.Listener{}
	for _, f := range files {
		name := f.Name()
		// A single socket without FileDescriptorName has its unit's name.
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

// OpenSockets listens on the addresses of the configuration, or takes the sockets that systemd
// hands over.
func OpenSockets(ctx context.Context, cfg *config.Config) (*Sockets, error) {
	handed, err := handedOver()
	if err != nil {
		return nil, err
	}
	on, err := Listen(
		ctx,
		Address{cfg.Addr, "PETSTORE_ADDR", handed["api"]},
		Address{cfg.AdminAddr, "PETSTORE_ADMIN_ADDR", handed["admin"]},
	)
	if err == nil && handed["api"] != nil && cfg.BaseURL == config.DefaultBaseURL(cfg.Addr) {
		cfg.BaseURL = config.DefaultBaseURL(on.API.Addr().String())
	}
	if err == nil && handed["api"] != nil && cfg.AddrSet && !isAddr(on.API.Addr(), cfg.Addr) {
		cfg.Warnings.Add(
			"socket",
			fmt.Sprintf(
				"the server listens on %v, the socket of systemd, and not on PETSTORE_ADDR=%s: set the same in both",
				on.API.Addr(),
				cfg.Addr,
			),
		)
	}
	return on, err
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

// listens reports whether a file is a listening socket. It does not change the file's blocking
// mode, because other processes share it.
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
