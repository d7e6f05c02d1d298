package storetest

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"petstore.example/internal/test/assert"
)

// Proxy listens on a TCP port until the test ends, and returns its address. For each connection it
// dials the network address and calls relay with both ends. relay may close them; ends that are
// still open are closed when the test ends.
func Proxy(t testing.TB, network, addr string, relay func(client, server net.Conn)) string {
	t.Helper()
	return ProxyTo(t, func() (net.Conn, error) { return net.Dial(network, addr) }, relay)
}

// ProxyTo is Proxy with another way to dial.
func ProxyTo(t testing.TB, dial func() (net.Conn, error), relay func(client, server net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NoError(t, err)
	var running sync.WaitGroup
	ending, end := context.WithCancel(context.Background())
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ending, func() { _ = client.Close() })
			running.Go(func() {
				server, err := dial()
				if err != nil {
					_ = client.Close()
					return
				}
				context.AfterFunc(ending, func() { _ = server.Close() })
				relay(client, server)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		end()
		running.Wait()
	})
	return listener.Addr().String()
}

// ProxyURL returns databaseURL with a Proxy in front of the database.
func ProxyURL(t testing.TB, databaseURL string, relay func(client, server net.Conn)) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	assert.NoError(t, err)
	query := u.Query()
	u.Host = Proxy(t, "unix", filepath.Join(query.Get("host"), ".s.PGSQL."+cmp.Or(query.Get("port"), "5432")), relay)
	query.Del("host")
	query.Del("port")
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	return u.String()
}
