package api

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"petstore.example/internal/api/gate"
	"petstore.example/internal/api/problem"
)

// Malformed answers what net/http can't read as a request, so that no handler gets it. Each answer
// counts for the connection's address, and has the headers of every response. It is safe for
// concurrent use.
type Malformed struct {
	addresses gate.Addresses
	instant   func(time.Time) time.Time
	link      []string
	toTLS     []byte
}

// NewMalformed uses Addresses, Instant and BaseURL of the configuration.
func NewMalformed(c Config) *Malformed {
	return &Malformed{
		addresses: c.Addresses,
		instant:   c.Instant,
		link:      helpLinks(strings.TrimSuffix(c.BaseURL, "/v1"), "")[problem.MalformedRequest.Number],
		toTLS: problem.Body(
			problem.MalformedRequest,
			"This port speaks HTTP without TLS. Use http:// in place of https://, or the address "+c.BaseURL+".",
		),
	}
}

// Replace returns the response, head and body, that is sent in place of net/http's own. A 400
// becomes an error of the contract; other statuses keep their body.
func (m *Malformed) Replace(from net.Addr, own []byte) []byte {
	line, rest, _ := bytes.Cut(own, []byte("\r\n"))
	if bytes.Contains(line, []byte(" 400 ")) {
		return m.badRequest(from, problem.MalformedRequest.Body)
	}
	return append(head(line, m.header(from)), rest...)
}

// TLS returns the response to a client that sends TLS to a port for plain HTTP.
func (m *Malformed) TLS(from net.Addr) []byte { return m.badRequest(from, m.toTLS) }

func (m *Malformed) badRequest(from net.Addr, body []byte) []byte {
	h := m.header(from)
	h["Connection"], h["Content-Type"], h["Link"] = []string{"close"}, applicationJSON, m.link
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	return append(append(head([]byte("HTTP/1.1 400 Bad Request"), h), "\r\n"...), body...)
}

// header returns the headers of every response.
func (m *Malformed) header(from net.Addr) http.Header {
	x := exchange{route: &route{}, headers: headers{Header: http.Header{}}}
	x.asked.Now = time.Now()
	x.id = requestID(nil, x.asked.Now)
	if m.instant != nil {
		x.asked.Now = m.instant(x.asked.Now)
	}
	x.ShowAddress(m.addresses.Take(peer(from.String()), x.asked.Now))
	x.setHeaders(http.StatusBadRequest)
	return x.headers.Header
}

// head returns a status line and headers.
func head(line []byte, h http.Header) []byte {
	var b bytes.Buffer
	b.Write(line)
	b.WriteString("\r\n")
	_ = h.Write(&b) // h is only written to memory.
	return b.Bytes()
}
