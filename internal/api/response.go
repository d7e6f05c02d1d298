package api

import (
	"net/http"
	"strconv"

	"petstore.example/internal/api/jsonbody"
)

// lengthAdded is the longest body, in bytes, whose Content-Length the server adds by itself ("under
// a few KB", http.ResponseWriter), unless it is sent before the handler has returned, as lingering
// does. A list then has 14 headers. The map of one more would be twice as large.
const lengthAdded = 2 << 10

// write sends the response: the headers that every response has, and the body, if any.
func (x *exchange) write(status int, body []byte) {
	x.drainBody()
	x.setHeaders(status)
	if body != nil {
		if x.headers.Header["Content-Type"] == nil {
			x.headers.Header["Content-Type"] = applicationJSON
		}
		if len(body) > lengthAdded || x.lingers || x.Request.Method == http.MethodHead {
			x.set("Content-Length", strconv.Itoa(len(body)))
		}
	}
	x.Writer.WriteHeader(status)
	if body == nil || x.Request.Method == http.MethodHead {
		x.Writer.WriteHeaderNow()
		return
	}
	// It fails if the client has disconnected.
	_, _ = x.Writer.Write(body)
}

// setHeaders sets the headers that every response has. Their values are safe: constants, numbers,
// and a request ID that was checked.
func (x *exchange) setHeaders(status int) {
	h := &x.headers
	if !x.route.sameOrigin {
		h.Header["Access-Control-Allow-Origin"] = anyOrigin
		h.Header["Access-Control-Expose-Headers"] = exposedHeaders
	}
	// No browser shows what only a request with a key gets. A list has no room for another header.
	if x.route.onlyTLS != nil && (x.route.scope == "" || status >= http.StatusBadRequest) {
		h.Header["Strict-Transport-Security"] = x.route.onlyTLS
	}
	h.set("X-Request-Id", x.id)
	x.limits.setHeaders(h, x.now.Unix())
	if x.caller != nil && !x.caller.ExpiresAt.IsZero() && status != http.StatusUnauthorized {
		x.setKeyExpires()
	}
	h.Header["Cache-Control"] = noStore
	if (status == http.StatusOK || status == http.StatusNotModified) && x.isRead() {
		h.Header["Cache-Control"] = privateNoCache
	}
}

// setRouteHeaders sets the headers of an operation that is deprecated or not stable, whatever the
// response will be.
func (x *exchange) setRouteHeaders() {
	h := x.headers.Header
	if x.route.stabilityHeader != nil {
		h["X-Stability"] = x.route.stabilityHeader
	}
	if d := x.route.deprecated; d != nil {
		h["Deprecation"], h["Sunset"], h["Link"] = d.deprecated, d.sunset, x.route.links
	}
}

// json responds 200 with a value.
func (x *exchange) json(v any) error {
	b, err := jsonbody.Encode(v)
	if err != nil {
		return err
	}
	defer b.Release()
	x.write(http.StatusOK, b.Bytes())
	return nil
}
