package contract

import (
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"petstore.example/internal/httpfast"
)

// Modes are the ways in which petstore serves HTTP, by PETSTORE_HTTP_FAST_PATH.
var Modes = map[string]func(*http.Server, net.Listener) net.Listener{
	"off": func(_ *http.Server, l net.Listener) net.Listener { return l },
	"on":  func(s *http.Server, l net.Listener) net.Listener { return httpfast.WrapServer(s, l) },
}

// Listen runs a server in a mode until the test ends, and returns its URL.
func Listen(t testing.TB, s *http.Server, mode string) *url.URL {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.DisableGeneralOptionsHandler, s.ReadHeaderTimeout = true, time.Minute
	at := &url.URL{Scheme: "http", Host: l.Addr().String()}
	l = Modes[mode](s, l)
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		running.Wait()
	})
	return at
}
