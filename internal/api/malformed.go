package api

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Malformed answers what net/http can't read as a request, so that no handler sees it. An answer
// counts for the address that the connection comes from, and has the headers of every response. It
// is safe for concurrent use.
type Malformed struct {
	addresses Addresses
	instant   func(time.Time) time.Time
	link      []string
	toTLS     []byte
}

// NewMalformed takes Addresses, Instant and BaseURL of the configuration.
func NewMalformed(c Config) *Malformed {
	return &Malformed{
		addresses: c.Addresses,
		instant:   c.Instant,
		link:      helpLinks(strings.TrimSuffix(c.BaseURL, "/v1"), "")[codeMalformedRequest.number],
		toTLS: errorBody(
			codeMalformedRequest,
			"This port speaks HTTP without TLS. Use http:// in place of https://, or the address "+c.BaseURL+".",
		),
	}
}

// Answer returns the response, head and body, to send in place of net/http's own. A 400 becomes an
// error; other statuses keep their body.
func (m *Malformed) Answer(from net.Addr, own []byte) []byte {
	line, rest, _ := bytes.Cut(own, []byte("\r\n"))
	if bytes.Contains(line, []byte(" 400 ")) {
		return m.badRequest(from, codeMalformedRequest.body)
	}
	return append(head(line, m.header(from)), rest...)
}

// TLS returns the response to a client that begins TLS where HTTP is spoken.
func (m *Malformed) TLS(from net.Addr) []byte { return m.badRequest(from, m.toTLS) }

func (m *Malformed) badRequest(from net.Addr, body []byte) []byte {
	h := m.header(from)
	h["Connection"], h["Content-Type"], h["Link"] = []string{"close"}, applicationJSON, m.link
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	return append(append(head([]byte("HTTP/1.1 400 Bad Request"), h), "\r\n"...), body...)
}

// header returns what every response has.
func (m *Malformed) header(from net.Addr) http.Header {
	x := exchange{route: &route{}, now: time.Now(), headers: headers{Header: http.Header{}}}
	x.id = requestID(nil, x.now)
	if m.instant != nil {
		x.now = m.instant(x.now)
	}
	x.limits = addressLimits(m.addresses.Take(peer(from.String()), x.now))
	x.setHeaders(http.StatusBadRequest)
	return x.headers.Header
}

// head returns a status line and headers.
func head(line []byte, h http.Header) []byte {
	var b bytes.Buffer
	b.Write(line)
	b.WriteString("\r\n")
	_ = h.Write(&b) // It fails only where its writer does.
	return b.Bytes()
}
