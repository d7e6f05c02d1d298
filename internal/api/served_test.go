package api

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"petstore.example/internal/catalog"
	"petstore.example/internal/httpfast"
	"petstore.example/internal/keys"
	"petstore.example/internal/keys/callers"
	"petstore.example/internal/limits"
	"petstore.example/internal/plans"
	"petstore.example/internal/usage"
)

// served is an API as petstore serves it, over a directory, limits, a meter, metrics and a log that are the real ones, to clients
// whose connections are in memory: all that a request costs but for the kernel and the background.
type served struct {
	http.Handler
	key    string
	tenant *plans.Tenant
}

func newServed(tb testing.TB, q plans.Quota) *served {
	tb.Helper()
	token, err := keys.NewToken(keys.Live)
	if err != nil {
		tb.Fatal(err)
	}
	s := &served{key: token.Reveal(), tenant: &plans.Tenant{ID: 1, Name: "acme", Plan: plans.Enterprise, Quota: q}}
	directory := callers.NewDirectory(s, keys.Live, time.Now)
	directory.FeedRestored()
	limiter, stamps := stampedMemory()
	pets := newFakePets()
	c := Config{
		Directory: directory, Limiter: limiter, Addresses: limits.NewAddresses(math.MaxInt32), Strikes: noStrikes{},
		Meter: usage.NewMeter(nil, usage.Options{}), Refusals: usage.NewRefusals(nil, usage.Options{}),
		Pets: pets, Orders: &fakeOrders{pets: pets}, Requests: &fakeRequests{}, Usage: &fakeUsage{pets: pets},
		BaseURL: baseURL, Invalidator: stamps, ListCacheBytes: 1 << 20, Metrics: prometheus.NewRegistry(),
		Log: zerolog.New(devNull{}).With().Timestamp().Logger(),
	}
	if s.Handler, err = New(c); err != nil {
		tb.Fatal(err)
	}
	for range 20 {
		if _, err := pets.CreatePet(tb.Context(), 1, catalog.NewPet{Name: "Rex", CategoryID: 7, Status: catalog.Available}); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// Caller implements callers.Store.
func (s *served) Caller(context.Context, keys.Digest, time.Time) (keys.Caller, error) {
	return keys.Caller{KeyID: "key_0123456789abcdef", Environment: keys.Live, Tenant: s.tenant}, nil
}

// pipe is a client that sends one request again and again, as soon as it was answered, and reads no answer.
type pipe struct {
	net.Conn
	request string
	// rest is what was not read of it yet.
	rest string
	next chan struct{}
	// late ends a read that is under way, which is how net/http stops its watch for a client that hangs up.
	late  chan struct{}
	wrote func(p []byte)
}

func (p *pipe) Read(b []byte) (int, error) {
	if p.rest != "" {
		return p.read(b)
	}
	select {
	case _, ok := <-p.next:
		if !ok {
			return 0, io.EOF
		}
		p.rest = p.request
		return p.read(b)
	case <-p.late:
		return 0, os.ErrDeadlineExceeded
	}
}

func (p *pipe) read(b []byte) (int, error) {
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *pipe) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && time.Until(t) < 0 {
		select {
		case p.late <- struct{}{}:
		default:
		}
		return nil
	}
	select {
	case <-p.late:
	default:
	}
	return nil
}

func (p *pipe) Write(b []byte) (int, error) {
	p.wrote(b)
	return len(b), nil
}

func (p *pipe) Close() error                     { return nil }
func (p *pipe) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711} }
func (p *pipe) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// once accepts the pipes, and then waits for its end.
type once struct {
	pipes []net.Conn
	over  chan struct{}
	close sync.Once
}

func (o *once) Accept() (net.Conn, error) {
	if len(o.pipes) > 0 {
		p := o.pipes[0]
		o.pipes = o.pipes[1:]
		return p, nil
	}
	<-o.over
	return nil, net.ErrClosed
}

func (o *once) Close() error {
	o.close.Do(func() { close(o.over) })
	return nil
}

func (o *once) Addr() net.Addr { return &net.TCPAddr{} }

const pipes = 64

// serve has 64 clients send the request in turn, and checks what the answers begin with.
func (s *served) serve(b *testing.B, status, request string) {
	b.Helper()
	request = "GET /v1/pets?limit=20 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n" + request + "\r\n"
	answered := make(chan struct{}, pipes)
	on := &once{over: make(chan struct{})}
	all := make([]*pipe, pipes)
	for i := range all {
		all[i] = &pipe{request: request, next: make(chan struct{}, 1), late: make(chan struct{}, 1), wrote: func(p []byte) {
			if !strings.HasPrefix(string(p[:min(len(p), 16)]), "HTTP/1.1 "+status) {
				panic(string(p))
			}
			answered <- struct{}{}
		}}
		on.pipes = append(on.pipes, all[i])
	}
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(httpfast.WrapServer(server, on)) }()
	ask := func(i int) {
		all[i%pipes].next <- struct{}{}
		<-answered
	}
	for i := range 3 * pipes {
		ask(i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		ask(i)
	}
	b.StopTimer()
	for _, p := range all {
		close(p.next)
	}
	if err := errors.Join(server.Close(), <-done); !errors.Is(err, http.ErrServerClosed) {
		b.Error(err)
	}
}

func BenchmarkServedList(b *testing.B) {
	s := newServed(b, noLimit)
	s.serve(b, "200", "Authorization: Bearer "+s.key+"\r\n")
}

func BenchmarkServedNotModified(b *testing.B) {
	s := newServed(b, noLimit)
	s.serve(b, "304", "Authorization: Bearer "+s.key+"\r\nIf-None-Match: *\r\n")
}

func BenchmarkServedBadKey(b *testing.B) {
	s := newServed(b, noLimit)
	s.serve(b, "401", "Authorization: Bearer "+s.key[:len(s.key)-1]+"-\r\n")
}

// BenchmarkServedRefused is a request over the limit of the minute.
func BenchmarkServedRefused(b *testing.B) {
	s := newServed(b, one)
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/pets", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	s.ServeHTTP(&discard{h: http.Header{}}, req)
	s.serve(b, "429", "Authorization: Bearer "+s.key+"\r\n")
}
