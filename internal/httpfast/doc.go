// Package httpfast is a fast path of HTTP/1.1 in front of net/http. It is for connections without
// TLS.
//
// It serves fast requests: GET and HEAD without a body that arrive in one read and have the form
// that most clients use. A round trip takes half of the time that it takes with net/http
// (BenchmarkRequest): no goroutine per request, one copy of the head instead of twenty pieces, one
// write per response, two for a body over 16 KiB. net/http serves everything else on the same
// connection: each connection's first request, requests with a body, and whatever is unusual or
// wrong.
//
// A handler need not know which of the two calls it.
//
// Like net/http, use a Conn from one goroutine that serves and writes, and at most one other that
// reads at the same time.
package httpfast
