package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"petstore.example/internal/plans"
	"petstore.example/internal/test/programs"
	"petstore.example/internal/test/sandbox"
)

// TestSilentConnections: strangers hold more connections than the server has file descriptors. Customers, old and new, notice nothing.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, false)
	tn := d.tenant(plans.Business, nil, 1)
	for _, fastPath := range []string{"on", "off"} {
		cmd := sandbox.Command(t, "sh", "-c", `ulimit -n 300; exec "$0" serve`, d.petstore)
		s := &server{programs.LaunchCommand(t, cmd, d.serverEnv([]string{"PETSTORE_HTTP_FAST_PATH=" + fastPath})...)}
		s.AwaitReady()
		known := s.customer(t, "127.200.0.1", tn.keys[0].token)
		for i := range 640 {
			from := "127.0.0.1" // 320 of one address, the others each of its own.
			if i >= 320 {
				from = fmt.Sprintf("127.1.%d.%d", i/250, 1+i%250)
			}
			stranger := dialFrom(t, from, s.Addr)
			// One request makes the server wait longer for the next than it does for the first.
			if _, err := io.WriteString(stranger, "GET /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if i%64 == 0 {
				known.list()
				s.customer(t, "127.200.0.2", tn.keys[0].token)
				s.customer(t, "127.0.0.1", tn.keys[0].token)
				if r := s.Ready(); r.HTTP != http.StatusOK {
					t.Errorf("after %d connections /readyz is %+v", i, r)
				}
			}
		}
		if n := s.Metric(`petstore_connections_closed_total{listener="api",reason="total"}`); n < 100 {
			t.Errorf("%v connections were closed in favour of new ones", n)
		}
	}
}

// customer is a connection of a customer.
type customer struct {
	net.Conn
	t     *testing.T
	read  *bufio.Reader
	token string
}

// customer connects from an address and sends a first request.
func (s *server) customer(t *testing.T, from, token string) *customer {
	t.Helper()
	conn := dialFrom(t, from, s.Addr)
	c := &customer{Conn: conn, t: t, read: bufio.NewReader(conn), token: token}
	c.list()
	return c
}

func (c *customer) list() {
	c.t.Helper()
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		c.t.Fatal(err)
	}
	for c.once() == http.StatusServiceUnavailable {
		time.Sleep(time.Second) // as Retry-After says: beside other tests a key may not be looked up in time
	}
}

// once sends a request, and returns the status of the response.
func (c *customer) once() int {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, "GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", c.token); err != nil {
		c.t.Fatal(err)
	}
	res, err := http.ReadResponse(c.read, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	if err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable {
		c.t.Errorf("%s, %v", res.Status, err)
	}
	return res.StatusCode
}

func dialFrom(t *testing.T, from, to string) net.Conn {
	t.Helper()
	d := net.Dialer{Timeout: timeout, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
