package tracing

import (
	"encoding/hex"
	"math/rand/v2"
	"net/http"
)

type (
	// TraceID names a trace in all systems that take part in it.
	TraceID [16]byte
	// SpanID names a span within its trace.
	SpanID [8]byte
)

// String returns the ID as a traceparent has it.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// newTraceID returns a random ID. Nothing secret rests on it.
func newTraceID() (id TraceID) {
	for id == (TraceID{}) {
		putRandom(id[:8])
		putRandom(id[8:])
	}
	return id
}

func newSpanID() (id SpanID) {
	for id == (SpanID{}) {
		putRandom(id[:])
	}
	return id
}

func putRandom(b []byte) {
	n := rand.Uint64() //nolint:gosec // Nothing secret rests on it.
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
}

// Parent is the span of the client that a request is part of. The zero Parent is none.
type Parent struct {
	Trace   TraceID
	Span    SpanID
	Sampled bool
}

// Valid reports whether there is a parent.
func (p Parent) Valid() bool { return p.Trace != TraceID{} }

// ParentOf returns the parent that the header traceparent names, the zero Parent if it is missing, wrong or there several times.
func ParentOf(h http.Header) Parent {
	values := h["Traceparent"]
	if len(values) != 1 {
		return Parent{}
	}
	return parseTraceparent(values[0])
}

// parseTraceparent reads the form of W3C's Trace Context: version, trace ID, span ID and flags in lowercase hexadecimal digits, as in
// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01. Of a later version it reads the same fields.
func parseTraceparent(s string) (p Parent) {
	const length = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if len(s) < length || s[2] != '-' || s[35] != '-' || s[52] != '-' || len(s) > length && s[length] != '-' {
		return Parent{}
	}
	var version, flags [1]byte
	if !readHex(version[:], s[:2]) || version[0] == 0xff || version[0] == 0 && len(s) > length ||
		!readHex(p.Trace[:], s[3:35]) || !readHex(p.Span[:], s[36:52]) || !readHex(flags[:], s[53:55]) ||
		p.Trace == (TraceID{}) || p.Span == (SpanID{}) {
		return Parent{}
	}
	p.Sampled = flags[0]&1 != 0
	return p
}

// readHex reads lowercase digits.
func readHex(into []byte, s string) bool {
	for i := range into {
		high, low := digit(s[2*i]), digit(s[2*i+1])
		if high > 15 || low > 15 {
			return false
		}
		into[i] = high<<4 | low
	}
	return true
}

func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}
