package storetest

import (
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"petstore.example/internal/test/assert"
)

// Proxy listens on a TCP port until the test ends and returns its address. For each connection it dials the network address and
// calls relay with both ends, which may close them. Those that are left are closed when the test ends.
func Proxy(t testing.TB, network, addr string, relay func(client, server net.Conn)) string {
	t.Helper()
	return ProxyTo(t, func() (net.Conn, error) { return net.Dial(network, addr) }, relay)
}

// ProxyTo is Proxy with another way to dial.
func ProxyTo(t testing.TB, dial func() (net.Conn, error), relay func(client, server net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	p := &proxy{}
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(client, dial, relay) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.close()
		p.running.Wait()
	})
	return listener.Addr().String()
}

// ProxyURL returns databaseURL with a Proxy in front of the database.
func ProxyURL(t testing.TB, databaseURL string, relay func(client, server net.Conn)) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	assert.NoError(t, err)
	query := u.Query()
	port := query.Get("port")
	if port == "" {
		port = "5432"
	}
	u.Host = Proxy(t, "unix", filepath.Join(query.Get("host"), ".s.PGSQL."+port), relay)
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	return u.String()
}

type proxy struct {
	running sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

func (p *proxy) serve(client net.Conn, dial func() (net.Conn, error), relay func(client, server net.Conn)) {
	server, err := dial()
	if err != nil {
		_ = client.Close()
		return
	}
	if !p.add(client, server) {
		_, _ = client.Close(), server.Close()
		return
	}
	relay(client, server)
}

// add returns false when the test has ended.
func (p *proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, conns...)
	return !p.closed
}

func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.conns {
		_ = c.Close()
	}
}
