package contract

import (
	"cmp"
	"io"
	"net"
	"net/http"
	"net/url"
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
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return at
}

// Remote returns a handler that passes every request on to a server in a mode, and the response back. Headers have canonical
// names, unless they are given as the server spells them.
func Remote(t testing.TB, s *http.Server, mode string, spelled ...string) http.Handler {
	t.Helper()
	spelling := map[string]string{}
	for _, name := range spelled {
		spelling[http.CanonicalHeaderKey(name)] = name
	}
	at := Listen(t, s, mode)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host, r.RequestURI = at.Scheme, at.Host, ""
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = res.Body.Close() }()
		for name, values := range res.Header {
			w.Header()[cmp.Or(spelling[name], name)] = values
		}
		w.WriteHeader(res.StatusCode)
		if _, err := io.Copy(w, res.Body); err != nil {
			t.Error(err)
		}
	})
}
