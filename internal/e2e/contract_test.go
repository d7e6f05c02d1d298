package e2e_test

import (
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	petstore "petstore.example/client"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/contract"
)

// document is the OpenAPI document.
var document = sync.OnceValues(func() (*contract.Document, error) {
	text, err := os.ReadFile("../api/openapi.yaml")
	if err != nil {
		return nil, err
	}
	return contract.Load(text)
})

// checker checks exchanges against the document.
type checker struct {
	t        testing.TB
	document *contract.Document
	reports  atomic.Int64
	seen     sync.Map // kinds of responses, with their numbers
}

func newChecker(t testing.TB) *checker {
	t.Helper()
	d, err := document()
	assert.NoError(t, err)
	return &checker{t: t, document: d}
}

// exchange checks a response. Of a kind that a load gets by the thousand, make test checks the
// first hundred and some of the others: the check takes more time of a processor than the response.
func (c *checker) exchange(x contract.Exchange) {
	kind := x.Request.Method + x.Request.URL.Path + strconv.Itoa(x.Status)
	number, _ := c.seen.LoadOrStore(kind, &atomic.Int64{})
	if n := number.(*atomic.Int64).Add(1); n > 100 && n%16 != 0 && !long() {
		return
	}
	if err := c.document.Check(x); err != nil {
		c.report(err)
	}
}

// report fails the test. It logs the first ten errors only, since thousands of responses may have
// the same one.
func (c *checker) report(err error) {
	if c.reports.Add(1) <= 10 {
		c.t.Error(err)
	}
}

// checked returns a transport that checks every exchange, for the Go client.
func (c *client) checked() http.RoundTripper {
	return c.check.document.Transport(c.http.Transport, c.check.report)
}

// through returns the client option for a transport.
func through(r http.RoundTripper) petstore.Option {
	return petstore.WithHTTPClient(&http.Client{Transport: r, Timeout: timeout})
}

// store returns the Go client for a key and a server.
func (d *deployment) store(s *server, token string, opts ...petstore.Option) *petstore.Client {
	d.t.Helper()
	c, err := petstore.New(s.URL, token, append([]petstore.Option{through(d.client.checked())}, opts...)...)
	assert.NoError(d.t, err)
	return c
}
