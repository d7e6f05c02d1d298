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

func listen(ctx context.Context, apiAddr, adminAddr string) (*sockets, error) {
	api, err := listenOn(ctx, apiAddr, "--addr or PETSTORE_ADDR")
	if err != nil {
		return nil, err
	}
	admin, err := listenOn(ctx, adminAddr, "--admin-addr or PETSTORE_ADMIN_ADDR")
	if err != nil {
		return nil, errors.Join(err, api.Close())
	}
	return &sockets{api: api, admin: admin}, nil
}

func listenOn(ctx context.Context, addr, setting string) (net.Listener, error) {
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
