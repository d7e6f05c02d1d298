package httpfast

import (
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// maxCopied is the longest body, in bytes, that is copied although its length is declared.
const maxCopied = 16 << 10

// responseWriter is the http.ResponseWriter of a fast request. It keeps the body until the handler
// has returned, so that its length is known and the response is sent in one write. A longer body is
// sent without a copy if the handler has declared its length and writes it at once: otherwise
// clients that do not read responses could fill the memory. Flushing, trailers and 1xx are not
// supported.
type responseWriter struct {
	conn   *Conn
	method string
	header http.Header
	// names are the header's names in order, kept because the next response usually has the same
	// ones.
	names []string

	// status is 0 until the handler has written the header. The fields below that depend on the
	// header are set then.
	status                      int
	closes                      bool
	hasDate, hasType, hasLength bool
	// declared is Content-Length, empty unless the handler set it exactly once.
	declared string

	// out is the response, at first only its header.
	out, body []byte

	// sent is true once the response is sent. err is the error of sending it.
	sent bool
	err  error
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
	if lengths := h["Content-Length"]; len(lengths) == 1 {
		w.declared = lengths[0]
	}
	w.out = appendStatusLine(w.out, status)
	w.appendHeader()
}

// appendHeader appends the header's lines in the order of their names, as net/http does.
func (w *responseWriter) appendHeader() {
	if w.appendLines() {
		return
	}
	if w.sortNames() && w.appendLines() {
		return
	}
	omitted := map[string]bool{}
	for name := range w.header {
		omitted[name] = w.omits(name)
	}
	_ = w.header.WriteSubset((*appender)(&w.out), omitted) // The appender never fails.
}

// sortNames sets w.names. It returns false if one of them is not a header name.
func (w *responseWriter) sortNames() bool {
	w.names = w.names[:0]
	for name := range w.header {
		if name == "" || !consists(name, inName) {
			w.names = w.names[:0]
			return false
		}
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	return true
}

// appendLines appends the lines of w.names. It appends nothing and returns false if the header has
// other names, or if net/http would correct a value.
func (w *responseWriter) appendLines() bool {
	if len(w.names) != len(w.header) {
		return false
	}
	b := w.out
	for _, name := range w.names {
		values, ok := w.header[name]
		if !ok {
			return false
		}
		if w.omits(name) {
			continue
		}
		for _, v := range values {
			if strings.IndexByte(v, '\n') >= 0 || strings.IndexByte(v, '\r') >= 0 || v != textproto.TrimString(v) {
				return false
			}
			b = append(append(append(append(b, name...), ": "...), v...), "\r\n"...)
		}
	}
	w.out = b
	return true
}

// omits reports whether a header of the handler is left out: because only the connection sets it,
// or because it is wrong in a response without a body.
func (w *responseWriter) omits(name string) bool {
	switch name {
	case "Connection", "Transfer-Encoding", "Trailer":
		return true
	case "Content-Length":
		return w.method != http.MethodHead || !hasBody(w.status)
	case "Content-Type":
		return w.status == http.StatusNotModified
	}
	return false
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

// hasBody reports whether responses of a status may have a body (RFC 9110, section 6.4.1).
func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	if len(p) > maxCopied && len(w.body) == 0 && w.method == http.MethodGet && w.declared == strconv.Itoa(len(p)) {
		return w.send(p)
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

// send sends the response with all of its body.
func (w *responseWriter) send(body []byte) (n int, err error) {
	w.sent = true
	now := time.Now()
	if d := w.conn.listener.writeTimeout; d > 0 {
		_ = w.conn.SetWriteDeadline(now.Add(d)) // If the connection is closed, Write fails.
	}
	w.closes = w.closes || w.conn.state.Load() == closing
	w.endHeader(now, body)
	if _, w.err = w.conn.Write(w.out); w.err == nil {
		n, w.err = w.conn.Write(body)
	}
	return n, w.err
}

// WriteString implements io.StringWriter.
func (w *responseWriter) WriteString(s string) (int, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	w.body = append(w.body, s...)
	return len(s), nil
}

// begin writes the header if the handler has not, and returns an error if no body may follow.
func (w *responseWriter) begin() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case !hasBody(w.status):
		return http.ErrBodyNotAllowed
	case w.sent:
		return http.ErrContentLength
	}
	return nil
}

// finish completes the response and returns it.
func (w *responseWriter) finish(now time.Time) []byte {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.endHeader(now, w.body)
	if w.method != http.MethodHead {
		w.out = append(w.out, w.body...)
	}
	return w.out
}

// endHeader completes the header of a response with that body: it adds the lines that net/http adds
// too.
func (w *responseWriter) endHeader(now time.Time, body []byte) {
	b, isHead := w.out, w.method == http.MethodHead
	if !w.hasDate {
		b = append(append(append(b, "Date: "...), date(now)...), "\r\n"...)
	}
	if hasBody(w.status) && (!isHead || !w.hasLength && len(body) > 0) {
		b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10)
		b = append(b, "\r\n"...)
	}
	if !w.hasType && len(body) > 0 {
		b = append(append(append(b, "Content-Type: "...), http.DetectContentType(body)...), "\r\n"...)
	}
	if w.closes {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "\r\n"...)
	w.out = b
}

// empty resets w for another request.
func (w *responseWriter) empty() {
	clear(w.header)
	*w = responseWriter{header: w.header, names: w.names, out: w.out[:0], body: w.body[:0]}
}

func appendStatusLine(b []byte, status int) []byte {
	text := http.StatusText(status)
	if text == "" {
		text = "status code " + strconv.Itoa(status)
	}
	b = strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(status), 10)
	return append(append(append(b, ' '), text...), "\r\n"...)
}

// written is a second and its text in the header Date.
type written struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[written]

// date returns the value of Date. It is formatted once a second, which saves all other requests 0.2
// µs.
func date(now time.Time) string {
	d := lastDate.Load()
	if d == nil || d.second != now.Unix() {
		d = &written{now.Unix(), now.UTC().Format(http.TimeFormat)}
		lastDate.Store(d)
	}
	return d.text
}
