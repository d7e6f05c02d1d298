package wire

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// answer is the http.ResponseWriter of a plain request. It keeps the body until the handler has returned, so that its length is known
// and everything goes out in one write. Beyond ResponseWriter it can do nothing: no flushing, no trailers, no 1xx.
type answer struct {
	// conn's Head goes behind the status line.
	conn   *Conn
	method string
	header http.Header

	// status is 0 until the handler has written the header. All that depends on the header was found out then.
	status                      int
	closes                      bool
	hasDate, hasType, hasLength bool

	// out is the answer, first as far as the header goes.
	out, body []byte
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. It panics where net/http does.
func (a *answer) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic("wire: invalid status " + strconv.Itoa(status))
	}
	if a.status != 0 || status < http.StatusOK {
		return
	}
	a.status = status
	h := a.header
	a.closes = a.closes || len(h["Connection"]) > 0 && h["Connection"][0] == "close"
	_, a.hasDate = h["Date"]
	_, a.hasType = h["Content-Type"]
	a.hasType = a.hasType || len(h["Content-Encoding"]) > 0 && h["Content-Encoding"][0] != ""
	_, a.hasLength = h["Content-Length"]
	a.out = append(appendStatusLine(a.out, status), a.conn.takeHead()...)
	a.appendMap()
}

// Header lines that the handler may have set and that are not copied: what they say is the connection's to say, or wrong without a
// body.
var (
	notCopied       = map[string]bool{"Connection": true, "Transfer-Encoding": true, "Trailer": true, "Content-Length": true}
	notOfHead       = map[string]bool{"Connection": true, "Transfer-Encoding": true, "Trailer": true}
	notOfUnmodified = map[string]bool{"Connection": true, "Transfer-Encoding": true, "Trailer": true, "Content-Length": true, "Content-Type": true}
)

// appendMap appends the lines that the handler has set by the map. There is hardly ever more than one, and that is
// Content-Type.
func (a *answer) appendMap() {
	without := notCopied
	switch {
	case a.status == http.StatusNotModified:
		without = notOfUnmodified
	case a.method == http.MethodHead && hasBody(a.status):
		without = notOfHead
	}
	if v := a.header["Content-Type"]; len(a.header) == 1 && len(v) == 1 && !without["Content-Type"] && !strings.ContainsAny(v[0], "\r\n") {
		a.out = append(append(append(a.out, "Content-Type: "...), v[0]...), "\r\n"...)
		return
	}
	_ = a.header.WriteSubset((*appender)(&a.out), without) // It fails only where its writer does.
}

// appender is an io.Writer.
type appender []byte

func (b *appender) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

func (b *appender) WriteString(s string) (int, error) {
	*b = append(*b, s...)
	return len(s), nil
}

// hasBody reports whether answers of a status may have a body (RFC 9110, section 6.4.1).
func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if err := a.begin(); err != nil {
		return 0, err
	}
	a.body = append(a.body, p...)
	return len(p), nil
}

// WriteString implements io.StringWriter.
func (a *answer) WriteString(s string) (int, error) {
	if err := a.begin(); err != nil {
		return 0, err
	}
	a.body = append(a.body, s...)
	return len(s), nil
}

// begin sees to it that a body can follow.
func (a *answer) begin() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !hasBody(a.status) {
		return http.ErrBodyNotAllowed
	}
	return nil
}

// finish completes the answer with the lines that net/http adds too, and returns all of it.
func (a *answer) finish(now time.Time) []byte {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	b, isHead := a.out, a.method == http.MethodHead
	if !a.hasDate {
		b = append(append(append(b, "Date: "...), date(now)...), "\r\n"...)
	}
	if hasBody(a.status) && (!isHead || !a.hasLength && len(a.body) > 0) {
		b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(a.body)), 10)
		b = append(b, "\r\n"...)
	}
	if !a.hasType && len(a.body) > 0 {
		b = append(append(append(b, "Content-Type: "...), http.DetectContentType(a.body)...), "\r\n"...)
	}
	if a.closes {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "\r\n"...)
	if !isHead {
		b = append(b, a.body...)
	}
	a.out = b
	return b
}

// empty makes the answer ready for another request.
func (a *answer) empty() {
	clear(a.header)
	*a = answer{header: a.header, out: a.out[:0], body: a.body[:0]}
}

func appendStatusLine(b []byte, status int) []byte {
	text := http.StatusText(status)
	if text == "" {
		text = "status code " + strconv.Itoa(status)
	}
	b = strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(status), 10)
	return append(append(append(b, ' '), text...), "\r\n"...)
}

// written is the time of a second, as the header Date has it.
type written struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[written]

// date is written out once a second: 0.2 µs less for all others.
func date(now time.Time) string {
	d := lastDate.Load()
	if d == nil || d.second != now.Unix() {
		d = &written{now.Unix(), now.UTC().Format(http.TimeFormat)}
		lastDate.Store(d)
	}
	return d.text
}
