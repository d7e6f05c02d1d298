package api

import (
	"net/http"
	"strings"
)

// sharedLines are the same on every answer.
var sharedLines = "Access-Control-Allow-Origin: " + anyOrigin[0] + "\r\nAccess-Control-Expose-Headers: " + exposedHeaders[0] + "\r\n"

// leaveHead leaves the header lines that every answer has, and those that were written out before, with the connection:
// 4 µs less than by net/http's map (see package httpfast). Where there is no such connection they go into the map.
func (x *exchange) leaveHead(status int) {
	if x.conn != nil {
		x.conn.Head = x.appendHead(x.conn.Head[:0], status)
		return
	}
	var space [1024]byte
	for line := range strings.SplitSeq(string(x.appendHead(space[:0], status)), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			x.set(name, value)
		}
	}
}

// line adds a header line whose value is a constant or a number. It is for headers that net/http need not know of.
func (x *exchange) line(name, value string) {
	if x.lines == nil {
		x.lines = x.room[:0]
	}
	x.lines = append(append(append(append(x.lines, name...), ": "...), value...), "\r\n"...)
}

// limitLines returns those of the connection, or new ones where it keeps none.
func (x *exchange) limitLines() *limitLines {
	if x.kept == nil {
		return &limitLines{text: make([]byte, 0, 512)}
	}
	return &x.kept.limits
}

// appendHead appends the lines. No value of them holds a line break: they are numbers, constants, a request id that was
// checked, and what newListPage has written.
func (x *exchange) appendHead(b []byte, status int) []byte {
	b = append(b, sharedLines...)
	b = append(append(b, "X-Request-Id: "...), x.id...)
	b = x.limitLines().append(append(b, "\r\n"...), &x.limits, x.now.Unix())
	cache := "Cache-Control: no-store\r\n"
	if (status == http.StatusOK || status == http.StatusNotModified) && x.isRead() {
		cache = "Cache-Control: private, no-cache\r\n"
	}
	return append(append(b, cache...), x.lines...)
}
