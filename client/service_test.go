package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"petstore.example/client"
)

const key = "pst_test_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm"

// received is a request as the service got it.
type received struct {
	method, path, query, body string
	header                    http.Header
}

// service answers requests with what it was told to, one after the other, and keeps them.
type service struct {
	url     string
	mu      sync.Mutex
	answers []http.HandlerFunc
	got     []received
}

func newService(t *testing.T, answers ...http.HandlerFunc) *service {
	t.Helper()
	s := &service{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL + "/v1"
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	next := len(s.got)
	s.got = append(s.got, received{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.Header})
	s.mu.Unlock()
	if next >= len(s.answers) {
		answer(http.StatusTeapot, `{"code":"unexpected","message":"There is no answer left.","status":418}`)(w, r)
		return
	}
	s.answers[next](w, r)
}

// requests returns what was received so far.
func (s *service) requests() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.got...)
}

// answer writes a status, a body and headers, given as name and value in turn.
func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// failure is an answer in the contract's form of an error.
func failure(status int, code client.Code, headers ...string) http.HandlerFunc {
	return answer(status, fmt.Sprintf(`{"code":%q,"message":"So it is.","status":%d}`, code, status), headers...)
}

// cut breaks the connection without an answer.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cutShort breaks the connection in the middle of an answer.
func cutShort(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `[{"id":1,`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// clock is a time that passes only while somebody sleeps.
type clock struct {
	mu    sync.Mutex
	at    time.Time
	slept []time.Duration
}

var start = time.Date(2026, time.November, 20, 9, 21, 48, 0, time.UTC)

func newClock() *clock { return &clock{at: start} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

// store returns a client of the service in whose time nobody waits, and that draws 0 when it draws by chance.
func (s *service) store(t *testing.T, opts ...client.Option) (*client.Client, *clock) {
	t.Helper()
	clk := newClock()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	opts = append([]client.Option{
		client.WithHTTPClient(&http.Client{Transport: transport, Timeout: 20 * time.Second}),
		client.WithClock(clk.now, clk.sleep),
		client.WithRandom(func() float64 { return 0 }),
	}, opts...)
	c, err := client.New(s.url, key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c, clk
}
