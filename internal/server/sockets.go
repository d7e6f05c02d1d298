package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Sockets are opened before anything else, so that a port in use is reported first.
type Sockets struct{ API, Admin net.Listener }

// Address is where to listen, and the name of its setting.
type Address struct {
	Addr, Setting string
	// HandedOver is the socket from systemd to use instead, nil for none.
	HandedOver net.Listener
}

// Listen opens both sockets. An address in use is an error that names its setting.
func Listen(ctx context.Context, forAPI, forAdmin Address) (*Sockets, error) {
	if _, port, _ := net.SplitHostPort(forAPI.Addr); forAPI.Addr == forAdmin.Addr && port != "0" &&
		forAPI.HandedOver == nil {
		return nil, fmt.Errorf(
			"%s and %s are both %s: set different addresses",
			forAPI.Setting,
			forAdmin.Setting,
			forAPI.Addr,
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
	return &Sockets{API: api, Admin: admin}, nil
}

var errInUse = errors.New("is in use by another program")

func listenOn(ctx context.Context, a Address) (net.Listener, error) {
	if a.HandedOver != nil {
		return a.HandedOver, boundUnsent(a.HandedOver)
	}
	addr, setting := a.Addr, a.Setting
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // The listener's bounds do not hold for connections of MPTCP.
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

// Close closes the sockets that no server has closed yet.
func (s *Sockets) Close() {
	_ = s.API.Close()
	_ = s.Admin.Close()
}
