package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// sockets are opened before anything else is started: a port that is taken is found out first.
type sockets struct{ api, admin net.Listener }

// place is where to listen, and the setting that says so.
type place struct{ addr, setting string }

func listen(ctx context.Context, forAPI, forAdmin place) (*sockets, error) {
	if _, port, _ := net.SplitHostPort(forAPI.addr); forAPI.addr == forAdmin.addr && port != "0" {
		return nil, fmt.Errorf("%s and %s are both %s: each needs an address of its own", forAPI.setting, forAdmin.setting, forAPI.addr)
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

func listenOn(ctx context.Context, p place) (net.Listener, error) {
	addr, setting := p.addr, p.setting
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program: stop it, or choose another address with %s", addr, setting)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%s needs more rights than this user has: choose a port above 1023 with %s", addr, setting)
	}
	return nil, fmt.Errorf("can't listen on %s: %w; choose another address with %s", addr, err, setting)
}

// close closes what a server has not closed already.
func (s *sockets) close() {
	_ = s.api.Close()
	_ = s.admin.Close()
}
