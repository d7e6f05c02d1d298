package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/api"
	"petstore.example/internal/buildinfo"
	"petstore.example/internal/connlimit"
	"petstore.example/internal/httpfast"
	"petstore.example/internal/server/config"
)

const (
	// firstRequests is how long a stopping server waits for the first requests of the connections
	// that it accepted last. Once Shutdown has begun, net/http closes a connection without a
	// response if it reads the first request only then.
	firstRequests = 200 * time.Millisecond

	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	// writeTimeout starts after the request headers. It leaves time for a response to a body that
	// took all of readTimeout. The API has other deadlines for bodies that it reads.
	writeTimeout = readTimeout + 30*time.Second
	idleTimeout  = 2 * time.Minute
	// maxHead limits the request line and headers, in bytes. net/http allows 4 KiB more than
	// MaxHeaderBytes.
	maxHead        = 32 << 10
	maxHeaderBytes = maxHead - 4<<10
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
		ErrorLog:                     stdlog.New(serverErrors{log}, "", 0),
	}
}

// serverErrors logs net/http's messages. They count as one kind of trouble, because their texts
// hold addresses.
type serverErrors struct{ log zerolog.Logger }

// Write implements io.Writer.
func (s serverErrors) Write(text []byte) (int, error) {
	s.log.Warn().Bytes("error", bytes.TrimSpace(text)).Msg("HTTP server")
	return len(text), nil
}

// serveHTTP serves until ctx ends. Then readiness fails, so that a load balancer sends no more
// requests. After the drain delay the server accepts no more connections, and requests in flight
// have the stop timeout to finish. The admin server runs to the end.
func serveHTTP(
	ctx context.Context,
	cfg *config.Config,
	on *Sockets,
	handler http.Handler,
	health *health,
	metrics *prometheus.Registry,
	build buildinfo.Info,
	log zerolog.Logger,
	started func(),
) error {
	connections, err := on.limitConnections(cfg, metrics)
	if err != nil {
		return err
	}
	defer background(log, "report", newReporter(health, on.API.(*connlimit.Listener), cfg.Keys(), metrics).run)()
	logServing(log, build.Version, cfg, on, connections)
	health.addr = on.API.Addr().String()
	apiServer, listener, waitIdle := newAPIServer(cfg, handler, on.API, log)
	adminServer := newHTTPServer(adminHandler(cfg, health, metrics), log)
	// A CPU profile may take minutes.
	adminServer.WriteTimeout = 5 * time.Minute
	failed, adminFailed := make(chan error, 1), make(chan error, 1)
	go func() { failed <- apiServer.Serve(listener) }()
	go func() { adminFailed <- adminServer.Serve(on.Admin) }()
	defer func() { _ = adminServer.Close() }()
	started()

	select {
	case err := <-failed:
		_ = apiServer.Close()
		return fmt.Errorf("serve: %w", err)
	case err := <-adminFailed:
		_ = apiServer.Close()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	health.stopping.Store(true)
	log.Info().Dur("drain_delay_ms", cfg.DrainDelay).Msg("stopping")
	time.Sleep(cfg.DrainDelay)
	_ = listener.Close() // listener closes only its own sockets, none from systemd.
	if err := <-failed; !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
		log.Warn().Err(err).Msg("serve")
	}
	apiServer.SetKeepAlivesEnabled(false)
	time.Sleep(firstRequests)
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.StopTimeout)
	defer cancel()
	// Shutdown does not wait for requests of the fast path; waitIdle waits until all connections
	// have ended. At the end of stopCtx each closes what is still open.
	if err := errors.Join(apiServer.Shutdown(stopCtx), waitIdle(stopCtx)); err != nil {
		return errors.Join(
			fmt.Errorf("requests in flight did not finish within %v: %w", cfg.StopTimeout, err),
			apiServer.Close(),
		)
	}
	return nil
}

func logServing(log zerolog.Logger, version string, cfg *config.Config, on *Sockets, connections connlimit.Limits) {
	log.Info().Str(
		"version",
		version,
	).Str(
		"addr",
		on.API.Addr().String(),
	).Str(
		"admin_addr",
		on.Admin.Addr().String(),
	).
		Int(
			"max_connections",
			connections.Total,
		).Int(
		"max_connections_per_address",
		connections.PerAddress,
	).
		Str(
			"environment",
			cfg.Environment,
		).Bool(
		"redis",
		cfg.RedisURL != "",
	).Int(
		"pid",
		os.Getpid(),
	).Msg("serving")
}

// newAPIServer returns the API's server and the listener for it to serve, with the fast path unless
// it is turned off. waitIdle waits for the fast path's requests after the server's Shutdown.
func newAPIServer(cfg *config.Config, handler http.Handler, on net.Listener, log zerolog.Logger) (
	s *http.Server, l net.Listener, waitIdle func(context.Context) error,
) {
	s = newHTTPServer(handler, log)
	s.ConnContext = api.ConnContext
	l, waitIdle = on, func(context.Context) error { return nil }
	if cfg.HTTPFastPath {
		fast := httpfast.WrapServer(s, on)
		l, waitIdle = fast, fast.WaitIdle
	}
	// Fast requests are shorter than 4 KiB.
	s.Handler = refuseLongHeads(handler)
	return s, l, waitIdle
}

// refuseLongHeads responds 431, as net/http does. net/http itself counts only what it reads after
// the beginning of a request: the whole head of a connection's first request, but up to 4 KiB less
// of a later one.
func refuseLongHeads(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if headLength(r) <= maxHead {
			next.ServeHTTP(w, r)
			return
		}
		const status = http.StatusRequestHeaderFieldsTooLarge
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Connection", "close")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, status, " ", http.StatusText(status))
	})
}

// headLength returns the length of a request's head, in bytes, in the form that most clients write:
// with one space after each colon.
func headLength(r *http.Request) int {
	n := len(r.Method) + len(
		r.RequestURI,
	) + len(r.Proto) + len(
		"  \r\n",
	) + len("Host: \r\n") + len(
		r.Host,
	) + len("\r\n")
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v) + len(": \r\n")
		}
	}
	return n
}
