package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
)

// TestSilentConnections: strangers hold more connections than the server has file descriptors.
// Customers, old and new, notice nothing.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	tn := d.tenant(plans.Business, nil, 1)
	for _, fastPath := range []string{"on", "off"} {
		cmd := sandbox.Command(t, "sh", "-c", `ulimit -n 300; exec "$0" serve`, d.petstore)
		s := &server{programs.LaunchCommand(t, cmd, d.serverEnv([]string{"PETSTORE_HTTP_FAST_PATH=" + fastPath})...)}
		s.AwaitReady()
		list := customer(t, s, "127.200.0.1", tn.keys[0].token)
		for i := range 640 {
			from := "127.0.0.1" // 320 of one address, the others each of its own.
			if i >= 320 {
				from = fmt.Sprintf("127.1.%d.%d", i/250, 1+i%250)
			}
			stranger := dialFrom(t, from, s.Addr)
			// One request makes the server wait longer for the next than it does for the first.
			_, err := io.WriteString(stranger, "GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n")
			assert.NoError(t, err)
			if i%320 == 319 { // Soon enough that none of them has been idle for too long.
				list()
				customer(t, s, "127.200.0.2", tn.keys[0].token)
				customer(t, s, "127.0.0.1", tn.keys[0].token)
				s.AwaitReady()
			}
		}
		n := s.Metric(`petstore_connections_closed_total{listener="api",reason="total"}`)
		assert.True(t, n >= 100, n, "connections were closed in favour of new ones")
	}
}

// customer returns what lists from an address, always on the same connection.
func customer(t *testing.T, s *server, from, token string) (list func()) {
	t.Helper()
	var dialed atomic.Int64
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		dialed.Add(1)
		return dialFrom(t, from, s.Addr), nil
	}}
	c := newPatientClient(t)
	c.http.Transport = transport
	list = func() {
		if a := c.get(s, token, "/pets"); a.status != http.StatusOK || dialed.Load() != 1 {
			t.Errorf("from %s: %v, on connection %d", from, a, dialed.Load())
		}
	}
	list()
	return list
}

func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{Timeout: timeout, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", to)
	assert.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
