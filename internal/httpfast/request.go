package httpfast

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// maxLines is the maximum number of header lines of a fast request.
const maxLines = 32

// fastRequest is a request of the most usual kind: GET or HEAD without a body, complete in one
// read. It is read strictly: whatever is unusual or wrong is left to net/http. A fast request has
// the same meaning here as there (FuzzFastRequest).
type fastRequest struct {
	method, target, host string

	url    url.URL
	header http.Header
	values [maxLines]string
	lines  int

	request http.Request
}

// forHandler returns the request as net/http would, except for its context.
func (r *fastRequest) forHandler(c *Conn) *http.Request {
	r.request = http.Request{
		Method: r.method, URL: &r.url, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.header, Body: http.NoBody, Host: r.host, RemoteAddr: c.remote(), RequestURI: r.target,
	}
	return &r.request
}

// read reads the request at the beginning of b, and returns its length. ok is false if the request
// is not fast. The request's strings share one copy of its head.
func (r *fastRequest) read(b []byte) (length int, ok bool) {
	if !bytes.HasPrefix(b, []byte("GET /")) && !bytes.HasPrefix(b, []byte("HEAD /")) {
		return 0, false
	}
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return 0, false
	}
	length = end + len("\r\n\r\n")
	line, rest, _ := strings.Cut(string(b[:end+len("\r\n")]), "\r\n")
	r.host, r.lines = "", 0
	clear(r.header)
	if !r.readLine(line) {
		return 0, false
	}
	for rest != "" {
		if line, rest, ok = strings.Cut(rest, "\r\n"); !ok || !r.readField(line) {
			return 0, false
		}
	}
	return length, r.host != ""
}

// readLine reads the request line. A path with percent-encoding is not fast.
func (r *fastRequest) readLine(line string) bool {
	method, rest, _ := strings.Cut(line, " ")
	target, ok := strings.CutSuffix(rest, " HTTP/1.1")
	if !ok || strings.HasPrefix(target, "//") {
		return false
	}
	path, query, asks := strings.Cut(target, "?")
	if asks && query == "" || !consists(path, inPath) || !consists(query, inQuery) {
		return false
	}
	r.method, r.target, r.url = method, target, url.URL{Path: path, RawQuery: query}
	return true
}

// readField reads a header line. The request is not fast if the line is about the connection or a
// body, or if its name occurs twice.
func (r *fastRequest) readField(line string) bool {
	name, value, ok := strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	if !ok || name == "" || !consists(name, inName) || !consists(value, inValue) {
		return false
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	switch name {
	case "Host":
		if r.host != "" || value == "" || !consists(value, inHost) {
			return false
		}
		r.host = value
		return true
	case "Connection":
		if !strings.EqualFold(value, "keep-alive") {
			return false
		}
	case "Content-Length",
		"Transfer-Encoding",
		"Trailer",
		"Te",
		"Expect",
		"Upgrade",
		"Http2-Settings",
		"Keep-Alive",
		"Proxy-Connection",
		"Pragma":
		return false
	}
	if _, twice := r.header[name]; twice || r.lines == maxLines {
		return false
	}
	r.values[r.lines] = value
	r.lines++
	r.header[name] = r.values[r.lines-1 : r.lines : r.lines]
	return true
}

// The parts of a fast request in which a byte may occur.
const (
	inPath = 1 << iota
	inQuery
	inName
	inValue
	inHost
)

// parts has for each byte the parts in which it may occur. All of these bytes are printable ASCII.
var parts = func() (t [256]uint8) {
	for c := byte(' '); c <= '~'; c++ {
		t[c] |= inValue
		if c != ' ' && c != '#' {
			t[c] |= inQuery
		}
		if 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' {
			t[c] |= inPath | inName | inHost
		}
	}
	for of, bytes := range map[uint8]string{inPath: "-._~/:", inName: "-_", inHost: "-.:[]"} {
		for i := range len(bytes) {
			t[bytes[i]] |= of
		}
	}
	return t
}()

func consists(s string, of uint8) bool {
	for i := range len(s) {
		if parts[s[i]]&of == 0 {
			return false
		}
	}
	return true
}
