// Package httpfast is a fast path of HTTP/1.1 in front of net/http, for connections without TLS.
//
// It serves fast requests: GET and HEAD without a body that arrive in one read and have the form
// that most clients use. A round trip takes half as long as with net/http (BenchmarkRequest): no
// goroutine per request, one copy of the head instead of twenty pieces, and one write per response
// (two for a body over 16 KiB). On the same connection net/http serves everything else: the first
// request, requests with a body, and whatever is unusual or wrong.
//
// A handler need not know which of the two calls it.
//
// Use a Conn like one of net/http: one goroutine serves and writes, and at most one other reads at
// the same time.
package httpfast
