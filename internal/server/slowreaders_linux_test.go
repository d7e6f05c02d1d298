package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/connlimit"
	"petstore.example/internal/server/config"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// TestSlowReadersHoldLittleMemory: strangers ask for an asset of 4.3 MB and never read. The kernel
// holds little for them, on a socket of our own and on systemd's, and nothing once they are closed:
// they are reset.
func TestSlowReadersHoldLittleMemory(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]net.Listener{"own": nil, "systemd": handOver(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sockets, err := Listen(
				t.Context(),
				Address{Addr: "127.0.0.1:0", HandedOver: on},
				Address{Addr: "127.0.0.1:0"},
			)
			assert.NoError(t, err)
			defer sockets.Close()
			holdLittle(t, sockets)
		})
	}
}

func holdLittle(t *testing.T, on *Sockets) {
	t.Helper()
	// Without bounds a reader holds 4 MB. The count is this machine's, of both sockets and of the
	// readers too: most leaves other tests some.
	readers, most := 300, int64(250<<20)
	if os.Getenv("PETSTORE_SOAK") != "" {
		readers, most = 3000, 1000<<20
	}
	on.API = &malformedListener{on.API, nil}
	cfg, err := config.Read([]string{"PETSTORE_DATABASE_URL=postgres://h/db"})
	assert.NoError(t, err)
	_, err = on.limitConnections(&cfg, prometheus.NewRegistry())
	assert.NoError(t, err)
	body := make([]byte, 4_300_000)
	server, listener, _ := newAPIServer(&cfg, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
	}), on.API, zerolog.Nop())
	defer func() { _ = server.Close() }()
	go func() { _ = server.Serve(listener) }()
	before, all := socketMemory(t), make([]net.Conn, readers)
	for i := range all {
		all[i] = begin(t, fmt.Sprintf("127.7.0.%d", 1+i/300), listener.Addr())
		defer func() { _ = all[i].Close() }()
	}
	var grown int64
	wait.Until(t, "the readers hold little memory", func() bool {
		grown = socketMemory(t) - before
		return grown < most
	}, &grown)
	stats := on.API.(*connlimit.Listener).Stats
	wait.Until(t, "the readers are closed", func() bool { return stats().Unauthenticated == 0 }, stats)
	t.Logf("%d readers: %d bytes, %+v", readers, grown, stats())
	for _, c := range all {
		if _, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("a reader's connection ended with %v, want a reset", err)
		}
	}
}

// begin sends a request, and waits until the response begins, unless the connection is reset
// before.
func begin(t *testing.T, from string, to net.Addr) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", to.String())
	if err == nil {
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	if err == nil {
		_, err = io.ReadFull(c, make([]byte, 1))
	}
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	return c
}

// handOver returns a listener as systemd hands it over: it has none of our options.
func handOver(t *testing.T) net.Listener {
	t.Helper()
	var plain net.ListenConfig
	plain.SetMultipathTCP(false)
	l, err := plain.Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	defer func() { _ = l.Close() }()
	f, err := l.(*net.TCPListener).File()
	assert.NoError(t, err)
	sockets := map[string]net.Listener{}
	assert.NoError(t, takeSocket(sockets, "api", f))
	return sockets["api"]
}

// socketMemory returns what all TCP sockets of this machine take of the kernel's memory, in bytes.
func socketMemory(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/net/sockstat")
	assert.NoError(t, err)
	_, tcp, _ := strings.Cut(string(text), "\nTCP: ")
	line, _, _ := strings.Cut(tcp, "\n")
	_, pages, _ := strings.Cut(line, " mem ")
	n, err := strconv.ParseInt(pages, 10, 64)
	assert.NoError(t, err)
	return n * int64(os.Getpagesize())
}
