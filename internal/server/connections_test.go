package server

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"

	"petstore.example/internal/connlimit"
	"petstore.example/internal/envvars"
	"petstore.example/internal/server/config"
	"petstore.example/internal/test/assert"
)

func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		max, perAddress    int64
		files              uint64
		total, perAddrWant int
	}{
		{"as configured", 20_000, 0, 1 << 20, 20_000, 5_000},
		{"few files", 20_000, 0, 300, 204, 51},
		{"infinite files", 100, 7, 1<<64 - 1, 100, 7},
		{"the fewest files", 20_000, 0, 128, 32, 8},
		{"too few files", 20_000, 0, 127, 0, 0},
	} {
		cfg := config.Config{MaxConnections: c.max, MaxConnectionsPerAddress: c.perAddress}
		got, err := connectionLimits(&cfg, c.files)
		if err == nil != (c.total > 0) {
			t.Errorf("%s: %v", c.name, err)
		}
		assert.Equal(t, got.Total, c.total, c.name, "connections")
		assert.Equal(t, got.PerAddress, c.perAddrWant, c.name, "connections of an address")
	}
	cfg := config.Config{MaxConnections: 100, TrustedProxies: []string{"10.0.0.0/8", "2001:db8::1"}}
	got, err := connectionLimits(&cfg, 1000)
	assert.NoError(t, err)
	var trusted []string
	for _, network := range got.Trusted {
		trusted = append(trusted, network.String())
	}
	assert.DeepEqual(t, trusted, []string{"10.0.0.0/8", "2001:db8::1/128"}, "trusted")
}

// TestSilentAdminConnections: they can't make the admin address unreachable.
func TestSilentAdminConnections(t *testing.T) {
	t.Parallel()
	on, err := Listen(t.Context(), Address{Addr: "127.0.0.1:0"}, Address{Addr: "127.0.0.1:0"})
	assert.NoError(t, err)
	defer on.Close()
	registry := prometheus.NewPedanticRegistry()
	_, err = on.limitConnections(&config.Config{MaxConnections: 100}, registry)
	assert.NoError(t, err)
	server := newHTTPServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), zerolog.Nop())
	defer func() { _ = server.Close() }()
	go func() { _ = server.Serve(on.Admin) }()
	for range 5 * adminConnections {
		silent, err := new(net.Dialer).DialContext(t.Context(), "tcp", on.Admin.Addr().String())
		assert.NoError(t, err)
		defer func() { _ = silent.Close() }()
	}
	client := &http.Client{Timeout: 10 * time.Second}
	res, err := client.Get("http://" + on.Admin.Addr().String())
	assert.NoError(t, err)
	_ = res.Body.Close()
	text := gathered(registry)
	for _, want := range []string{
		`petstore_connections{listener="admin",state="unauthenticated"} 32`,
		`petstore_connections_closed_total{listener="admin",reason="total"} 129`,
		`petstore_connections_refused_total{listener="api",reason="address"} 0`,
	} {
		assert.Contains(t, text, want, "no")
	}
}

// gathered returns the metrics as they are served.
func gathered(r *prometheus.Registry) string {
	rec := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return rec.Body.String()
}

// exhausted is a listener whose process has no descriptor left for so many connections.
type exhausted struct {
	net.Listener
	left atomic.Int64
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// TestNoDescriptors: a process that has none left pauses and then accepts connections again.
func TestNoDescriptors(t *testing.T) {
	t.Parallel()
	for _, fastPath := range []envvars.Switch{true, false} {
		on, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		assert.NoError(t, err)
		full := &exhausted{Listener: on}
		full.left.Store(3)
		limited := connlimit.Wrap(full, connlimit.Limits{Total: 10})
		server, listener, _ := newAPIServer(
			&config.Config{HTTPFastPath: fastPath},
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
			limited,
			zerolog.Nop(),
		)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.Serve(listener)
		}()
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", on.Addr().String())
		assert.NoError(t, err)
		assert.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.NoError(t, err)
		if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != 200 {
			t.Errorf("fast path %s: %v", fastPath, err)
		}
		_ = conn.Close()
		_ = server.Close()
		<-done
	}
}
