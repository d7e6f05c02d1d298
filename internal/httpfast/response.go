package httpfast

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// responseWriter is the http.ResponseWriter of a plain request. It keeps the body until the handler has returned, so that its length is known
// and everything goes out in one write. Beyond ResponseWriter it can do nothing: no flushing, no trailers, no 1xx.
type responseWriter struct {
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
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. It panics where net/http does.
func (w *responseWriter) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic("httpfast: invalid status " + strconv.Itoa(status))
	}
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	h := w.header
	w.closes = w.closes || len(h["Connection"]) > 0 && h["Connection"][0] == "close"
	_, w.hasDate = h["Date"]
	_, w.hasType = h["Content-Type"]
	w.hasType = w.hasType || len(h["Content-Encoding"]) > 0 && h["Content-Encoding"][0] != ""
	_, w.hasLength = h["Content-Length"]
	w.out = append(appendStatusLine(w.out, status), w.conn.takeHead()...)
	w.appendMap()
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
func (w *responseWriter) appendMap() {
	without := notCopied
	switch {
	case w.status == http.StatusNotModified:
		without = notOfUnmodified
	case w.method == http.MethodHead && hasBody(w.status):
		without = notOfHead
	}
	if v := w.header["Content-Type"]; len(w.header) == 1 && len(v) == 1 && !without["Content-Type"] && !strings.ContainsAny(v[0], "\r\n") {
		w.out = append(append(append(w.out, "Content-Type: "...), v[0]...), "\r\n"...)
		return
	}
	_ = w.header.WriteSubset((*appender)(&w.out), without) // It fails only where its writer does.
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
func (w *responseWriter) Write(p []byte) (int, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

// WriteString implements io.StringWriter.
func (w *responseWriter) WriteString(s string) (int, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	w.body = append(w.body, s...)
	return len(s), nil
}

// begin sees to it that a body can follow.
func (w *responseWriter) begin() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !hasBody(w.status) {
		return http.ErrBodyNotAllowed
	}
	return nil
}

// finish completes the answer with the lines that net/http adds too, and returns all of it.
func (w *responseWriter) finish(now time.Time) []byte {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	b, isHead := w.out, w.method == http.MethodHead
	if !w.hasDate {
		b = append(append(append(b, "Date: "...), date(now)...), "\r\n"...)
	}
	if hasBody(w.status) && (!isHead || !w.hasLength && len(w.body) > 0) {
		b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(w.body)), 10)
		b = append(b, "\r\n"...)
	}
	if !w.hasType && len(w.body) > 0 {
		b = append(append(append(b, "Content-Type: "...), http.DetectContentType(w.body)...), "\r\n"...)
	}
	if w.closes {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "\r\n"...)
	if !isHead {
		b = append(b, w.body...)
	}
	w.out = b
	return b
}

// empty makes the answer ready for another request.
func (w *responseWriter) empty() {
	clear(w.header)
	*w = responseWriter{header: w.header, out: w.out[:0], body: w.body[:0]}
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
