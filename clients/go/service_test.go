package client_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"petstore.example/client"
)

const key = "pst_test_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm"

// The ways to call that differ in whether they may be repeated.
var (
	list = func(ctx context.Context, c *client.Client) error {
		_, err := c.ListPets(ctx, client.ListPetsParams{})
		return err
	}
	add = func(ctx context.Context, c *client.Client) error {
		_, err := c.CreatePet(ctx, client.NewPet{Name: "Rex"})
		return err
	}
	change = func(ctx context.Context, c *client.Client) error {
		_, err := c.UpdatePet(ctx, 7, client.PetPatch{})
		return err
	}
)

func seconds(all ...float64) (waits []time.Duration) {
	for _, s := range all {
		waits = append(waits, time.Duration(s*float64(time.Second)))
	}
	return waits
}

// received is a request as the service got it.
type received struct {
	method, path, query, body string
	header                    http.Header
}

// service answers requests with what it was told to, one after the other, and keeps them. It
// listens in memory, so that synctest's time passes.
type service struct {
	url     string
	memory  chan net.Conn // nil for a server on a port
	mu      sync.Mutex
	answers []http.HandlerFunc
	got     []received
}

func newService(t *testing.T, answers ...http.HandlerFunc) *service {
	t.Helper()
	s := &service{url: "http://127.0.0.1/v1", memory: make(chan net.Conn), answers: answers}
	server := &http.Server{Handler: s}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(s)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return s
}

// Accept, Close and Addr are net.Listener's.
func (s *service) Accept() (net.Conn, error) {
	c, ok := <-s.memory
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (s *service) Close() error {
	close(s.memory)
	return nil
}

func (s *service) Addr() net.Addr { return &net.TCPAddr{} }

func (s *service) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	s.memory <- there
	return here, nil
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

// store returns a client of the service. It draws 0 when it draws by chance.
func (s *service) store(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	if s.memory != nil {
		transport.DialContext = s.dial
	}
	t.Cleanup(transport.CloseIdleConnections)
	opts = append([]client.Option{
		client.WithHTTPClient(&http.Client{Transport: transport, Timeout: 20 * time.Second}),
		client.WithRandom(func() float64 { return 0 }),
	}, opts...)
	c, err := client.New(s.url, key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
