package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// sockets are opened before anything else, so that a port in use is reported first.
type sockets struct{ api, admin net.Listener }

// address is where to listen, and the name of its setting.
type address struct {
	addr, setting string
	// handedOver is the socket of systemd that is used instead, nil for none.
	handedOver net.Listener
}

func listen(ctx context.Context, forAPI, forAdmin address) (*sockets, error) {
	if _, port, _ := net.SplitHostPort(forAPI.addr); forAPI.addr == forAdmin.addr && port != "0" &&
		forAPI.handedOver == nil {
		return nil, fmt.Errorf(
			"%s and %s are both %s: set different addresses",
			forAPI.setting,
			forAdmin.setting,
			forAPI.addr,
		)
	}
	api, err := listenOn(ctx, forAPI)
	if err != nil {
		return nil, err
	}
	admin, err := listenOn(ctx, forAdmin)
	if err != nil {
		return nil, errors.Join(err, api.Close())
	}
	return &sockets{api: api, admin: admin}, nil
}

var errInUse = errors.New("is in use by another program")

func listenOn(ctx context.Context, a address) (net.Listener, error) {
	if a.handedOver != nil {
		return a.handedOver, boundUnsent(a.handedOver)
	}
	addr, setting := a.addr, a.setting
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // Its connections would not have the bounds of the listener.
	l, err := plain.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, boundUnsent(l)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s %w: stop it, or choose another address with %s", addr, errInUse, setting)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("no permission to listen on %s: choose a port above 1023 with %s", addr, setting)
	}
	return nil, fmt.Errorf("can't listen on %s: %w; choose another address with %s", addr, err, setting)
}

// maxUnsent is how much of a response the kernel takes for a connection before its client is ready
// for it, in bytes.
const maxUnsent = 64 << 10

// boundUnsent bounds the memory of the kernel for each connection that a listener will accept.
func boundUnsent(l net.Listener) error {
	conn, err := l.(*net.TCPListener).SyscallConn()
	if err == nil {
		failed := conn.Control(func(fd uintptr) { err = setUnsent(int(fd)) })
		err = errors.Join(err, failed)
	}
	if err != nil {
		return fmt.Errorf("bound the memory of connections to %v: %w", l.Addr(), err)
	}
	return nil
}

// close closes the sockets that no server has closed yet.
func (s *sockets) close() {
	_ = s.api.Close()
	_ = s.admin.Close()
}
