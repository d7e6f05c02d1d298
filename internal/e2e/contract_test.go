package e2e_test

import (
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	petstore "petstore.example/client"
	"petstore.example/internal/contract"
)

// document is what the API promises.
var document = sync.OnceValues(func() (*contract.Document, error) {
	text, err := os.ReadFile("../api/openapi.yaml")
	if err != nil {
		return nil, err
	}
	return contract.Load(text)
})

// checked returns base with every request and answer held against the document.
func checked(t testing.TB, base http.RoundTripper) http.RoundTripper {
	t.Helper()
	d, err := document()
	if err != nil {
		t.Fatal(err)
	}
	var reports atomic.Int64
	return d.Transport(base, func(err error) {
		// The first ones tell enough of a fault that thousands of answers have.
		if reports.Add(1) <= 10 {
			t.Error(err)
		}
	})
}

// store returns the client for customers, of a key and a server.
func (h *house) store(s *server, token string, opts ...petstore.Option) *petstore.Client {
	h.t.Helper()
	opts = append([]petstore.Option{petstore.WithHTTPClient(h.client.http)}, opts...)
	c, err := petstore.New(s.url, token, opts...)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}
