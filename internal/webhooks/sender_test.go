package webhooks

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	client "petstore.example/client"
	"petstore.example/internal/test/assert"
)

const base = "https://api.example.com"

// body is an event as it is stored.
const body = `{"type":"ping","timestamp":"2026-11-29T12:00:00Z","data":{}}`

func newSender(t *testing.T, rules *Rules) *Sender {
	t.Helper()
	return NewSender(rules, newSealer(t, NewKey()), base, time.Now)
}

// batchOf returns a batch of n deliveries, signed with secrets.
func (s *Sender) batchOf(url string, n int, secrets ...[]byte) Batch {
	b := Batch{EndpointID: 7, Slot: 1, URL: url}
	for _, secret := range secrets {
		b.Secrets = append(b.Secrets, s.sealer.Seal(7, secret))
	}
	for i := range n {
		b.Deliveries = append(b.Deliveries, Delivery{
			ID: int64(i + 1), Attempt: 3, EventID: uuid.New(), Type: Ping, Body: []byte(body),
		})
	}
	return b
}

// once sends one delivery.
func (s *Sender) once(t *testing.T, url string) Result {
	t.Helper()
	secret, _ := NewSecret()
	session, err := s.begin(s.batchOf(url, 1, secret))
	assert.NoError(t, err)
	defer session.end()
	return session.send(t.Context(), session.batch.Deliveries[0])
}

// receiver is a customer's server. Its certificate is for example.com and the names below it.
type receiver struct {
	roots *x509.CertPool
	port  string
	got   atomic.Int32
	conns atomic.Int32
}

// newReceiver answers 200 if handle is nil.
func newReceiver(t *testing.T, handle http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{roots: x509.NewCertPool()}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.got.Add(1)
		if handle != nil {
			handle(w, req)
		}
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			r.conns.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	r.roots.AddCert(server.Certificate())
	r.port = strconv.Itoa(int(netip.MustParseAddrPort(server.Listener.Addr().String()).Port()))
	return r
}

func (r *receiver) url(host string) string {
	return "https://" + net.JoinHostPort(host, r.port) + "/hooks?a=b"
}

// sender returns one that reaches the receiver by any name.
func (r *receiver) sender(t *testing.T) *Sender {
	t.Helper()
	s := newSender(t, LocalRules())
	s.tls.RootCAs = r.roots
	s.useNameserver(LocalRules(), nameserver(t, func(string) netip.Addr { return netip.MustParseAddr("127.0.0.1") }))
	return s
}

// TestWhatIsSent: the customers' package verifies it with either secret, over one connection of
// HTTP/1.1, and nothing else is told.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	old, oldText := NewSecret()
	secret, text := NewSecret()
	requests := make(chan *http.Request, 3)
	to := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		for _, with := range []string{text, oldText} {
			event, err := client.VerifyWebhook([]string{with}, r.Header, got, 0)
			assert.NoError(t, err)
			assert.Equal(t, event.Type, Ping)
		}
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		requests <- r
	})
	s := to.sender(t)
	session, err := s.begin(s.batchOf(to.url("hooks.example.com"), 3, secret, old))
	assert.NoError(t, err)
	for _, d := range session.batch.Deliveries {
		r := session.send(t.Context(), d)
		assert.Equal(t, r.Outcome, Delivered, r.Said)
		assert.DeepEqual(t, []any{r.DeliveryID, r.EndpointID, r.Slot, r.Attempt, r.Status},
			[]any{d.ID, int64(7), 1, 3, 200})
		assert.True(t, r.Took > 0 && time.Since(r.At) < time.Minute, r.Took, r.At)
		got := <-requests
		assert.Equal(t, got.Proto, "HTTP/1.1")
		assert.Equal(t, got.RequestURI, "/hooks?a=b")
		var names []string
		for name := range got.Header {
			names = append(names, name)
		}
		assert.Equal(t, len(names), 6, names)
		assert.Equal(t, got.Header.Get("User-Agent"), "petstore-webhooks (+https://api.example.com/docs/webhooks)")
		assert.Equal(t, got.Header.Get("Content-Type"), "application/json")
		assert.Equal(t, got.Header.Get("Webhook-Id"), d.EventID.String())
	}
	assert.Equal(t, to.conns.Load(), 1, "connections")
	session.end()
	assert.Equal(t, len(s.conns), 0, "counted connections at the end")
}

// TestAnswers: what an answer means.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   Result
	}{
		"201": {status(201), Result{Outcome: Delivered, Status: 201}},
		"299": {status(299), Result{Outcome: Delivered, Status: 299}},
		"400": {status(400), Result{Outcome: Failed, Status: 400}},
		"410": {status(410), Result{Outcome: Gone, Status: 410}},
		"500": {status(500), Result{Outcome: Failed, Status: 500}},
		"101": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
		}, Result{Outcome: Failed, Status: 101}},
		"429 and seconds": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(429)
		}, Result{Outcome: Failed, Status: 429, RetryAfter: 90 * time.Second}},
		"503 and more than a day": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "2000000000")
			w.WriteHeader(503)
		}, Result{Outcome: Failed, Status: 503, RetryAfter: 24 * time.Hour}},
		"503 and a year": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "Fri, 31 Dec 2100 23:59:59 GMT")
			w.WriteHeader(503)
		}, Result{Outcome: Failed, Status: 503, RetryAfter: 24 * time.Hour}},
		"500 and Retry-After": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(500)
		}, Result{Outcome: Failed, Status: 500}},
		"bytes": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "\x00\xff"+strings.Repeat("a", 300))
		}, Result{Outcome: Delivered, Status: 200, Answer: []byte("\x00\xff" + strings.Repeat("a", 254))}},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "\x1f\x8bno gzip")
		}, Result{Outcome: Delivered, Status: 200, Answer: []byte("\x1f\x8bno gzip")}},
		"a large header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("A", strings.Repeat("a", 17<<10))
		}, Result{Outcome: Failed, Said: saidAnswer}},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "220 mail.inside ESMTP\r\n")
			_ = conn.Close()
		}, Result{Outcome: Failed, Said: saidAnswer}},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
		}, Result{Outcome: Failed, Status: 200, Answer: []byte("half"), Said: saidClosed}},
		"none": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			Result{Outcome: Failed, Said: saidClosed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newReceiver(t, c.answer)
			r := to.sender(t).once(t, to.url("example.com"))
			if len(r.Answer) == 0 {
				r.Answer = nil
			}
			r.At, r.Took = time.Time{}, 0
			c.want.DeliveryID, c.want.EndpointID, c.want.Slot, c.want.Attempt = 1, 7, 1, 3
			assert.DeepEqual(t, r, c.want)
		})
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// TestRedirectsAreNotFollowed: not even to the same server.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"/elsewhere", "http://169.254.169.254/latest/meta-data/"} {
		to := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, location, http.StatusTemporaryRedirect)
		})
		r := to.sender(t).once(t, to.url("example.com"))
		assert.DeepEqual(t, []any{r.Outcome, r.Status, r.Said, to.got.Load()},
			[]any{Failed, 307, saidRedirect, int32(1)})
	}
}

// TestCertificates: a request goes only to the server that the name is for.
func TestCertificates(t *testing.T) {
	t.Parallel()
	to := newReceiver(t, nil)
	s := to.sender(t)
	assert.Equal(t, s.once(t, to.url("example.net")).Said, saidOtherName)
	s.tls.RootCAs = x509.NewCertPool()
	assert.Equal(t, s.once(t, to.url("example.com")).Said, saidCertificate)
	assert.Equal(t, to.got.Load(), 0, "requests")

	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	assert.Equal(t, s.once(t, strings.Replace(plain.URL, "http:", "https:", 1)).Said, saidTLS)
	plain.Close()
	assert.Equal(t, s.once(t, plain.URL).Said, saidNoListener)
}

// TestLargeAnswersAreCut: an answer without end is a success, of which 64 KiB are read.
func TestLargeAnswersAreCut(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	to := newReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("a", 1<<10)); err != nil {
				return
			}
		}
	})
	r := to.sender(t).once(t, to.url("example.com"))
	assert.DeepEqual(t, []any{r.Outcome, len(r.Answer)}, []any{Delivered, keptBody})
	<-ended
}

// TestReasonsNameNoAddress: the errors behind them do.
func TestReasonsNameNoAddress(t *testing.T) {
	t.Parallel()
	at := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 53), Port: 53}
	for want, err := range map[string]error{
		saidLookup:      &net.DNSError{Err: "server misbehaving", Name: "a", Server: "10.0.0.53:53"},
		saidNoHost:      &net.DNSError{Err: "no such host", Name: "a", Server: "10.0.0.53:53", IsNotFound: true},
		saidTimeout:     &net.OpError{Op: "dial", Addr: at, Err: context.DeadlineExceeded},
		saidUnreachable: &net.OpError{Op: "dial", Addr: at, Err: errors.New("no route to host")},
		saidClosed:      &net.OpError{Op: "read", Addr: at, Err: errors.New("connection reset by peer")},
		saidAnswer:      errors.New("malformed HTTP response from 10.0.0.53"),
	} {
		assert.Equal(t, said(err, 0), want, err)
	}
}

// TestMostRequestsToAnAddress: those above 16 are given back, whatever name leads there.
func TestMostRequestsToAnAddress(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	to := newReceiver(t, func(http.ResponseWriter, *http.Request) { <-answer })
	s := to.sender(t)
	results := make(chan Result, maxPerAddress+4)
	var running sync.WaitGroup
	for i := range maxPerAddress + 4 {
		running.Go(func() { results <- s.once(t, to.url("a"+strconv.Itoa(i)+".example.com")) })
	}
	for range 4 {
		r := <-results
		assert.DeepEqual(t, []any{r.Outcome, r.RetryAfter}, []any{Returned, busyTime})
	}
	close(answer)
	running.Wait()
	for range maxPerAddress {
		assert.Equal(t, (<-results).Outcome, Delivered)
	}
	assert.Equal(t, to.got.Load(), maxPerAddress, "requests")
	assert.Equal(t, s.once(t, to.url("example.com")).Outcome, Delivered)
}
