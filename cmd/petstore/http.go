package main

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"petstore.example/internal/api"
	"petstore.example/internal/httpfast"
)

const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	// writeTimeout starts after the request headers. It leaves time for a response to a body that took all of readTimeout.
	writeTimeout = readTimeout + 30*time.Second
	idleTimeout  = 2 * time.Minute
	// maxHeaderBytes limits the request line and headers to 32 KiB, since net/http adds 4 KiB. It responds 431 to more.
	maxHeaderBytes = 28 << 10
)

func newHTTPServer(handler http.Handler, log zerolog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// The handler also serves OPTIONS *.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     stdlog.New(log.With().Str("level", "warn").Logger(), "", 0),
	}
}

// serveHTTP serves until ctx ends. Then readiness fails, so that a load balancer sends no more requests. After the drain delay the
// server accepts no more connections, and requests in flight may take the stop timeout. The admin server runs to the end.
func serveHTTP(
	ctx context.Context, cfg config, on *sockets, handler, admin http.Handler, health *health, log zerolog.Logger, started func(),
) error {
	apiServer, adminServer := newHTTPServer(handler, log), newHTTPServer(admin, log)
	apiServer.ConnContext = api.ConnContext
	listener, waitIdle := wrap(cfg, apiServer, on.api)
	// A CPU profile may take minutes.
	adminServer.WriteTimeout = 5 * time.Minute
	failed := make(chan error, 2)
	go func() { failed <- apiServer.Serve(listener) }()
	go func() { failed <- adminServer.Serve(on.admin) }()
	defer func() { _ = adminServer.Close() }()
	started()

	select {
	case err := <-failed:
		_ = apiServer.Close()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	health.stopping.Store(true)
	log.Info().Dur("drain_delay", cfg.DrainDelay).Msg("stopping")
	time.Sleep(cfg.DrainDelay)
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.StopTimeout)
	defer cancel()
	// Shutdown does not know of fast requests, and waitIdle only of connections: each ends what is left at the end of stopCtx.
	if err := errors.Join(apiServer.Shutdown(stopCtx), waitIdle(stopCtx)); err != nil {
		return errors.Join(fmt.Errorf("requests in flight did not finish within %v: %w", cfg.StopTimeout, err), apiServer.Close())
	}
	return nil
}

// wrap puts the fast path before the server, unless it is turned off. waitIdle waits for its requests after the server's Shutdown.
func wrap(cfg config, s *http.Server, on net.Listener) (l net.Listener, waitIdle func(context.Context) error) {
	if cfg.HTTPFastPath == "off" {
		return on, func(context.Context) error { return nil }
	}
	fast := httpfast.WrapServer(s, on)
	return fast, fast.WaitIdle
}
