package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

const (
	// attemptTime is how long an attempt may take, from the look-up of the name to the end of the
	// answer.
	attemptTime = 10 * time.Second
	// maxPerAddress is the most requests in flight to one address: many names may lead to it.
	maxPerAddress = 16
	// busyTime is when a delivery to an address with so many requests is tried again.
	busyTime = time.Second
	// maxHeader and maxBody are the most bytes that are read of an answer, keptBody those that are
	// stored.
	maxHeader, maxBody, keptBody = 16 << 10, 64 << 10, 256
	// maxRetryAfter is the longest time that an answer may ask for.
	maxRetryAfter = 24 * time.Hour
)

// errBusy: there are maxPerAddress requests to the address.
var errBusy = errors.New("too many requests to the address")

// Sender makes the requests.
type Sender struct {
	sealer *Sealer
	agent  string
	now    func() time.Time
	tls    *tls.Config
	// local names are looked up as this machine does, in /etc/hosts too.
	local bool
	// connect is a dialer's.
	connect func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	conns map[netip.Addr]int
}

// NewSender returns a sender of requests that name base, the URL of the site. now is Postgres's
// clock.
func NewSender(rules *Rules, sealer *Sealer, base string, now func() time.Time) *Sender {
	dialer := net.Dialer{Control: rules.guard.Safe, Resolver: &net.Resolver{PreferGo: true}}
	return &Sender{
		sealer:  sealer,
		agent:   "petstore-webhooks (+" + base + "/docs/webhooks)",
		now:     now,
		tls:     &tls.Config{MinVersion: tls.VersionTLS12},
		local:   rules.local,
		connect: dialer.DialContext,
		conns:   map[netip.Addr]int{},
	}
}

// session is the sending of one batch, over one connection.
type session struct {
	*Sender
	batch   Batch
	secrets [][]byte
	http    *http.Transport
}

// begin opens the secrets of a batch.
func (s *Sender) begin(b Batch) (*session, error) {
	secrets := make([][]byte, len(b.Secrets))
	for i, sealed := range b.Secrets {
		var err error
		if secrets[i], err = s.sealer.Open(b.EndpointID, sealed); err != nil {
			return nil, err
		}
	}
	// A Transport alone follows no redirect and keeps no cookie. Without Proxy it uses none.
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &session{Sender: s, batch: b, secrets: secrets, http: &http.Transport{
		DialContext:            s.dial,
		TLSClientConfig:        s.tls.Clone(),
		Protocols:              &http1,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		MaxConnsPerHost:        1,
	}}, nil
}

// end closes the connection.
func (s *session) end() { s.http.CloseIdleConnections() }

// send makes one attempt. It returns the delivery if ctx ends.
func (s *session) send(ctx context.Context, d Delivery) Result {
	begun := time.Now()
	r := Result{
		DeliveryID: d.ID, EndpointID: s.batch.EndpointID, Slot: s.batch.Slot, Attempt: d.Attempt, At: s.now(),
	}
	limited, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	err := s.post(limited, d, &r)
	r.Took = time.Since(begun)
	switch {
	case err == nil && r.Status >= 200 && r.Status < 300:
		r.Outcome = Delivered
	case err == nil && r.Status == http.StatusGone:
		r.Outcome = Gone
	case errors.Is(err, errBusy), errors.Is(err, errShortSecret):
		r.Outcome, r.RetryAfter = Returned, busyTime
	case ctx.Err() != nil:
		r.Outcome = Returned
	default:
		r.Outcome, r.Said = Failed, said(err, r.Status)
	}
	return r
}

// post sends a delivery and reads the answer.
func (s *session) post(ctx context.Context, d Delivery, r *Result) error {
	id := d.EventID.String()
	signature, err := sign(s.secrets, id, r.At, d.Body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.batch.URL, bytes.NewReader(d.Body))
	if err != nil {
		return err
	}
	req.Header = http.Header{
		"Content-Type":      {"application/json"},
		"User-Agent":        {s.agent},
		"Webhook-Id":        {id},
		"Webhook-Timestamp": {strconv.FormatInt(r.At.Unix(), 10)},
		"Webhook-Signature": {signature},
		// net/http doesn't send this, but sends again what a connection that was just closed has not
		// answered.
		"Idempotency-Key": nil,
	}
	answer, err := s.http.RoundTrip(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	r.Status = answer.StatusCode
	if r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable {
		r.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), r.At)
	}
	if r.Status < 200 {
		return nil // The body of 101 is the connection.
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody))
	r.Answer = bytes.Clone(body[:min(len(body), keptBody)])
	return err
}

// retryAfter reads seconds or a date, 0 for neither.
func retryAfter(text string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// dial connects to an address that the rules allow. It looks a name up in DNS as it is: a search
// list leads inside.
func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil && !s.local {
		address = net.JoinHostPort(host+".", port)
	}
	conn, err := s.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	to := netip.MustParseAddrPort(conn.RemoteAddr().String()).Addr()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[to] >= maxPerAddress {
		_ = conn.Close()
		return nil, errBusy
	}
	s.conns[to]++
	return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { s.closed(to) })}, nil
}

func (s *Sender) closed(to netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[to]--; s.conns[to] == 0 {
		delete(s.conns, to)
	}
}

// countedConn is one of the connections to its address.
type countedConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
