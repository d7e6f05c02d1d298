package httpfast

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/wait"
)

// echo answers with what it was asked, in the many ways that handlers have.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	h := w.Header()
	h.Set("X-Path", r.URL.Path)
	request := fmt.Sprintf(
		"%s %s %s %s %v %v %q %v",
		r.Method,
		r.RequestURI,
		r.Host,
		r.Proto,
		r.URL,
		r.Header,
		body,
		err,
	)
	switch r.URL.Path {
	case "/nothing":
		return
	case "/304":
		h.Set("Content-Type", "text/plain")
		h.Set("Etag", "x")
		w.WriteHeader(http.StatusNotModified)
		_, err = io.WriteString(w, "no body")
		if !errors.Is(err, http.ErrBodyNotAllowed) {
			panic(err)
		}
	case "/204":
		w.WriteHeader(http.StatusNoContent)
	case "/999":
		w.WriteHeader(999)
	case "/typed":
		h.Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		h.Set("X-Late", "1")
		_, _ = w.Write([]byte(request[:10]))
		_, _ = io.WriteString(w, request[10:])
	case "/length":
		h.Set("Content-Length", fmt.Sprint(len(request)))
		_, _ = io.WriteString(w, request)
	case "/odd":
		if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); !ok || a.Network() != "tcp" {
			panic("no address")
		}
		h["X-Odd"] = []string{"a\r\nb: c", " d "}
		h["bad name"] = []string{"x"}
		h["Date"] = nil
		h.Set("Content-Type", "a\nb")
		_, _ = io.WriteString(w, request)
	case "/long":
		_, _ = io.WriteString(w, strings.Repeat(request, 20))
	case "/large", "/large/but/short", "/large/close":
		body := strings.Repeat(request, 20+maxCopied/len(request))
		h.Set("Content-Length", fmt.Sprint(len(body)))
		if strings.HasSuffix(r.URL.Path, "close") {
			h.Set("Connection", "close")
		}
		n := len(body)
		if strings.HasSuffix(r.URL.Path, "short") {
			n -= 10
		}
		_, _ = w.Write([]byte(body[:n]))
		_, _ = w.Write([]byte(body[n:]))
	case "/close":
		h.Set("Connection", "close")
		_, _ = io.WriteString(w, request)
	default:
		_, _ = io.WriteString(w, request)
	}
}

// sent is bytes written at once, after which so many answers are read before anything more is
// written.
type sent struct {
	bytes   string
	answers []string // their requests' methods
}

// answers returns what is answered until the server closes the connection.
func answers(t *testing.T, addr string, all []sent) (got []string) {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	r := bufio.NewReader(c)
	for _, s := range all {
		// The server may answer and close before it has read all.
		if _, err := io.WriteString(c, s.bytes); err != nil {
			return append(got, "closed")
		}
		for _, method := range s.answers {
			assert.NoError(t, c.SetReadDeadline(time.Now().Add(hangTimeout)))
			res, err := http.ReadResponse(r, &http.Request{Method: method})
			if err != nil {
				return append(got, "no answer")
			}
			body, err := io.ReadAll(res.Body)
			if res.Close {
				err = nil // It may be a reset, for what the server left unread.
			}
			if method != http.MethodHead {
				res.ContentLength = 0 // net/http may send in pieces what is written in one here.
				res.Header.Del("Content-Length")
			}
			if res.Header["Date"] != nil {
				res.Header.Set("Date", "its own")
			}
			got = append(
				got,
				fmt.Sprintf("%s %v %d close %v %v %s", res.Status, res.Header, res.ContentLength, res.Close, err, body),
			)
			if res.Close {
				return got
			}
		}
		if len(s.answers) > 0 {
			// net/http ends a request after it is answered. What comes meanwhile is its own.
			time.Sleep(300 * time.Microsecond)
		}
	}
	return got
}

// TestSameAnswers: a connection with any requests on it, one by one or several at once, written in
// any pieces, is answered as it is by net/http.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	var all, fast atomic.Int64
	counted := func(w http.ResponseWriter, r *http.Request) {
		all.Add(1)
		if _, isFast := r.Context().(*requestContext); isFast {
			fast.Add(1)
		}
		echo(w, r)
	}
	ours, _ := serve(t, &http.Server{Handler: http.HandlerFunc(counted), ErrorLog: log.New(io.Discard, "", 0)})
	theirs := serveOn(t, &http.Server{Handler: http.HandlerFunc(echo), ErrorLog: log.New(io.Discard, "", 0)}, unwrapped)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	rounds := 400
	if os.Getenv("PETSTORE_SOAK") != "" {
		rounds = 20_000
	}
	for range rounds {
		stream := randomStream(random)
		if diff := cmp.Diff(answers(t, theirs, stream), answers(t, ours, stream)); diff != "" {
			t.Fatalf("%.3000s\n(-net/http +ours):\n%.3000s", fmt.Sprintf("%q", stream), diff)
		}
	}
	t.Logf("%d requests, of which %d were fast", all.Load(), fast.Load())
	assert.True(t, fast.Load() >= all.Load()/5, "too few were fast to say anything")
}

// What a stream is made of: each request with each path.
var (
	streamed = []string{
		"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n",
		"HEAD /%s HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n",
		"GET /%s?a=b HTTP/1.1\r\nhost: x:80\r\nauthorization: Bearer y\r\n\r\n",
		"POST /%s HTTP/1.1\r\nHost: x\r\nContent-Length: 38\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: xxxx\r\n\r\n",
		"POST /%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n26\r\nGET /smuggled HTTP/1.1\r\nHost: " +
			"xxxx\r\n\r\n\r\n0\r\n\r\n",
		"GET /%s HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nHEAD",
		"DELETE /%s HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /%s HTTP/1.1\r\nHost: x\r\nX: a, b\r\nX: c\r\n\r\n",
		"GET /%s HTTP/1.1\nHost: x\n\n",
		"GET /%s HTTP/1.1\r\nHost: x\r\nLong: " + strings.Repeat("x", 5000) + "\r\n\r\n",
	}
	// lastOnes end a connection. What came behind one would be answered by a reset, sooner or
	// later.
	lastOnes = []string{
		"POST /%s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
		"GET /%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"GET /%s HTTP/1.0\r\n\r\n",
		"GET /%s\r\n\r\n",
		"GET /%s HTTP/1.1\r\n\r\n",
		"GET /%s HTTP/1.1\r\nHost: x\r\nA b\r\n\r\n",
	}
	streamedPaths = []string{
		"",
		"nothing",
		"304",
		"204",
		"999",
		"typed",
		"length",
		"odd",
		"long",
		"large",
		"large/but/short",
		"a%2Fb",
		"x/../y",
	}
)

// randomStream returns a connection's requests, in groups of one to three that are written
// together, in pieces.
func randomStream(random *rand.Rand) (all []sent) {
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	for range 1 + random.IntN(6) {
		var bytes string
		var methods []string
		for range 1 + random.IntN(6)/3 {
			request := pick(streamed)
			if random.IntN(2) == 0 {
				request = streamed[random.IntN(3)]
			}
			request = fmt.Sprintf(request, pick(streamedPaths))
			bytes += request
			methods = append(methods, request[:strings.IndexByte(request, ' ')])
		}
		for random.IntN(3) == 0 && len(bytes) > 1 {
			n := 1 + random.IntN(len(bytes)-1)
			all, bytes = append(all, sent{bytes: bytes[:n]}), bytes[n:]
		}
		all = append(all, sent{bytes, methods})
	}
	switch random.IntN(4) {
	case 0:
		all = append(all, sent{fmt.Sprintf(pick(lastOnes), pick(streamedPaths)), []string{http.MethodGet}})
	case 1:
		all = append(
			all,
			sent{
				"GET /" + pick([]string{"close", "large/close"}) + " HTTP/1.1\r\nHost: x\r\n\r\n",
				[]string{http.MethodGet},
			},
		)
	}
	return all
}

// TestFastContext: the context of a fast request ends when its client disconnects, when it is over,
// and not before.
func TestFastContext(t *testing.T) {
	t.Parallel()
	seen, ended := make(chan context.Context, 1), make(chan error, 1)
	addr, _ := serve(t, &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/wait":
			child, cancel := context.WithTimeout(r.Context(), 20*time.Second)
			defer cancel()
			seen <- r.Context()
			<-child.Done()
			ended <- r.Context().Err()
		case "/short":
			select {
			case <-r.Context().Done():
				ended <- errors.New("the context ended early")
			case <-time.After(50 * time.Millisecond):
				ended <- nil
			}
		case "/keep":
			seen <- r.Context()
		}
	})})
	c := dial(t, addr)
	r := bufio.NewReader(c)
	send := func(paths ...string) {
		t.Helper()
		for _, p := range paths {
			_, err := io.WriteString(c, "GET "+p+" HTTP/1.1\r\nHost: x\r\n\r\n")
			assert.NoError(t, err)
		}
	}
	answer := func() {
		t.Helper()
		if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", res, err)
		}
	}
	var last context.Context
	for try := 0; ; try++ {
		send("/keep")
		last = <-seen
		answer()
		if _, isOurs := last.(*requestContext); isOurs {
			break
		}
		// The first is net/http's, and one that comes while that still ends the one before it.
		if try == 100 {
			t.Fatalf("no request took the fast path: %T", last)
		}
	}
	assert.ErrorIs(t, last.Err(), context.Canceled, "after the request")
	<-last.Done()
	// Twice, so that the next request comes while somebody listens, and once more, for the
	// connection goes on.
	send("/short", "/short")
	for range 2 {
		assert.Equal(t, <-ended, nil)
		answer()
	}
	send("/short")
	time.Sleep(20 * time.Millisecond) // the connection is idle for a moment
	send("/keep")
	assert.Equal(t, <-ended, nil)
	answer()
	<-seen
	answer()
	send("/wait")
	<-seen
	_ = c.Close()
	assert.ErrorIs(t, <-ended, context.Canceled, "after the client has hung up")
}

// TestFastShutdown: a server that stops answers the fast request under way, says that it closes,
// and closes.
func TestFastShutdown(t *testing.T) {
	t.Parallel()
	for _, inTime := range []bool{true, false} {
		begun, release := make(chan struct{}, 1), make(chan struct{})
		s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, isFast := r.Context().(*requestContext); isFast && r.URL.Path == "/slow" {
				begun <- struct{}{}
				<-release
			}
		})}
		addr, l := serve(t, s)
		slow, idle := dial(t, addr), dial(t, addr)
		for _, c := range []net.Conn{slow, idle} {
			for range 2 {
				got := get(t, c, "/")
				assert.True(t, !got.Close, "closed early")
			}
		}
		answer := make(chan *http.Response)
		go func() {
			defer close(answer)
			// One that comes while net/http still ends the one before it is net/http's.
			for {
				res, err := ask(slow, "/slow")
				if err != nil || res.Close {
					answer <- res
					return
				}
			}
		}()
		<-begun
		assert.NoError(t, s.Shutdown(t.Context()))
		_, err := idle.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF, "an idle connection")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if !inTime {
			assert.ErrorIs(t, l.WaitIdle(ctx), context.DeadlineExceeded, "drained with a request under way")
			res := <-answer
			assert.True(t, res == nil, res)
			close(release)
			continue
		}
		time.AfterFunc(50*time.Millisecond, func() { close(release) })
		assert.Equal(t, l.WaitIdle(t.Context()), nil)
		if res := <-answer; res == nil || res.StatusCode != http.StatusOK {
			t.Errorf("got %v", res)
		}
	}
}

// TestFastPanics: a handler that panics ends its connection, and nothing else.
func TestFastPanics(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	s := &http.Server{
		ErrorLog: log.New(&logged, "", 0),
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/abort":
				panic(http.ErrAbortHandler)
			case "/panic":
				_ = r.Context().Done()
				panic("oh")
			}
		}),
	}
	addr, l := serve(t, s)
	for _, path := range []string{"/abort", "/panic"} {
		c := dial(t, addr)
		get(t, c, "/")
		_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF, path)
	}
	c := dial(t, addr)
	for range 3 {
		get(t, c, "/")
	}
	assert.NoError(t, s.Shutdown(t.Context()))
	assert.NoError(t, l.WaitIdle(t.Context()))
	if got := logged.String(); strings.Count(got, "panic serving") != 1 || !strings.Contains(got, ": oh\n") {
		t.Errorf("logged %q", got)
	}
}

// TestFastTimeouts: after fast requests too, a connection that is idle is closed, and one whose
// client does not read.
func TestFastTimeouts(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	long := strings.Repeat("x", 8<<20)
	addr, _ := serve(
		t,
		&http.Server{
			IdleTimeout:  timeout,
			WriteTimeout: timeout,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/long" {
					_, _ = io.WriteString(w, long)
				}
			}),
		},
	)
	for _, path := range []string{"/", "/long"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			c := dial(t, addr)
			for range 3 {
				get(t, c, "/")
			}
			start := time.Now()
			_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
			assert.NoError(t, err)
			if path == "/long" {
				time.Sleep(timeout + late) // later than the server waits
			}
			n, _ := io.Copy(io.Discard, c)
			took := time.Since(start)
			if took < timeout-time.Second || n >= int64(len(long)) {
				t.Errorf("%d bytes, closed after %v", n, took)
			}
			if path == "/" {
				wait.Bound(t, "the end of an idle connection", took, timeout+time.Second)
			}
		})
	}
}

// TestIdleAfterALongResponse: the idle timeout begins when the response has been written.
func TestIdleAfterALongResponse(t *testing.T) {
	t.Parallel()
	const idle = 2 * time.Second
	addr, _ := serve(
		t,
		&http.Server{
			IdleTimeout:  idle,
			WriteTimeout: time.Minute,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/long" {
					_, _ = w.Write(make([]byte, 32<<20))
				}
			}),
		},
	)
	c := dial(t, addr)
	for range 3 {
		get(t, c, "/")
	}
	_, err := io.WriteString(c, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
	assert.NoError(t, err)
	time.Sleep(idle + idle/2) // longer than a connection may be idle
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	assert.NoError(t, err)
	_, err = io.Copy(io.Discard, res.Body)
	assert.NoError(t, err)
	get(t, c, "/")
}

// late is how much later than it should a busy machine may end a connection.
const late = 5 * time.Second

// hangTimeout is how long a test waits for what comes at once unless the machine is busy.
const hangTimeout = time.Minute

// get asks and reads the answer.
func get(t *testing.T, c net.Conn, path string) *http.Response {
	t.Helper()
	res, err := ask(c, path)
	assert.NoError(t, err)
	return res
}

func ask(c net.Conn, path string) (*http.Response, error) {
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res, err
}

// BenchmarkRequest compares an answer of a few bytes with net/http's.
func BenchmarkRequest(b *testing.B) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"text/plain"}
		_, _ = io.WriteString(w, "hello")
	})
	for name, fast := range map[string]bool{"net-http": false, "httpfast": true} {
		b.Run(name, func(b *testing.B) {
			s := &http.Server{Handler: handler, IdleTimeout: time.Minute, WriteTimeout: time.Minute}
			wrap := unwrapped
			if fast {
				wrap = func(l net.Listener) net.Listener { return WrapServer(s, l) }
			}
			c := dial(b, serveOn(b, s, wrap))
			request := []byte(
				"GET /v1/pets?limit=20 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAuthorization: Bearer " +
					"pst_live_x\r\nAccept: */*\r\n\r\n",
			)
			answer := make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				_, err := c.Write(request)
				assert.NoError(b, err)
				_, err = c.Read(answer)
				assert.NoError(b, err)
			}
		})
	}
}

// countedConns counts what is read from and written to its connections, and the deadlines set.
type countedConns struct {
	net.Listener
	reads, writes, deadlines atomic.Int64
}

type countedConn struct {
	net.Conn
	of *countedConns
}

func (l *countedConns) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, l}, err
}

func (c countedConn) Read(p []byte) (int, error) {
	c.of.reads.Add(1)
	return c.Conn.Read(p)
}

func (c countedConn) Write(p []byte) (int, error) {
	c.of.writes.Add(1)
	return c.Conn.Write(p)
}

func (c countedConn) SetReadDeadline(t time.Time) error {
	c.of.deadlines.Add(1)
	return c.Conn.SetReadDeadline(t)
}

func (c countedConn) SetWriteDeadline(t time.Time) error {
	c.of.deadlines.Add(1)
	return c.Conn.SetWriteDeadline(t)
}

// TestCallsOfARequest: a request on an open connection is one read and one write.
func TestCallsOfARequest(t *testing.T) {
	t.Parallel()
	s := &http.Server{
		Handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1204)) },
		),
		IdleTimeout:  time.Minute,
		WriteTimeout: time.Minute,
	}
	counted := &countedConns{}
	c := dial(t, serveOn(t, s, func(l net.Listener) net.Listener {
		counted.Listener = l
		return WrapServer(s, counted)
	}))
	const requests = 100
	for range requests {
		_, err := io.WriteString(c, "GET /v1/pets?limit=20 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept: */*\r\n\r\n")
		assert.NoError(t, err)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		assert.NoError(t, err)
		_, err = io.Copy(io.Discard, res.Body)
		assert.NoError(t, err)
	}
	// One read finds the first request, and the one that waits for the next may have begun.
	reads, writes := counted.reads.Load(), counted.writes.Load()
	t.Logf("%d requests: %d reads, %d writes, %d deadlines", requests, reads, writes, counted.deadlines.Load())
	assert.True(
		t,
		reads <= requests+2 && writes == requests,
		reads,
		"reads and",
		writes,
		"writes for",
		requests,
		"requests",
	)
}
