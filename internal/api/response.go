package api

import (
	"net/http"
	"strconv"

	"petstore.example/internal/api/jsonbody"
)

// lengthAdded is the longest body, in bytes, for which the server itself adds Content-Length
// ("under a few KB", http.ResponseWriter). It does not if the response is sent before the handler
// has returned, as by linger. Without that header a list has 14; one more would double the size of
// the map.
const lengthAdded = 2 << 10

// write sends the response: the headers of every response, and the body, if any.
func (x *exchange) write(status int, body []byte) {
	x.drainBody()
	x.setHeaders(status)
	x.setCaching(status)
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
	// Write fails if the client has disconnected.
	_, _ = x.Writer.Write(body)
}

// setHeaders sets the headers of every response. Their values are safe: constants, numbers, and a
// checked request ID.
func (x *exchange) setHeaders(status int) {
	h := &x.headers
	if !x.route.sameOrigin {
		h.Header["Access-Control-Allow-Origin"] = anyOrigin
		h.Header["Access-Control-Expose-Headers"] = exposedHeaders
	}
	// Browsers never show responses to requests with a key, so these need no header. A list has no
	// room for one more.
	if x.route.onlyTLS != nil && (x.route.scope == "" || status >= http.StatusBadRequest) {
		h.Header["Strict-Transport-Security"] = x.route.onlyTLS
	}
	h.set("X-Request-Id", x.id)
	x.limits = x.Limits(x.asked.Now)
	h.setLimits(&x.limits, x.asked.Now.Unix())
	if x.Caller != nil && !x.Caller.ExpiresAt.IsZero() && status != http.StatusUnauthorized {
		x.setKeyExpires()
	}
	h.Header["Cache-Control"] = noStore
}

// setCaching lets a client keep the response to a read, but the client must revalidate it before
// each use.
func (x *exchange) setCaching(status int) {
	if (status == http.StatusOK || status == http.StatusNotModified) && x.isRead() {
		x.headers.Header["Cache-Control"] = privateNoCache
		if x.route.immutable {
			x.headers.Header["Cache-Control"] = immutableYear
		}
	}
}

// setRouteHeaders sets the headers of an operation that is deprecated or not stable, for any
// response.
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
