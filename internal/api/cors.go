package api

// CORS headers (https://fetch.spec.whatwg.org/#http-cors-protocol). Pages of any origin may call
// the API and read all its headers. That is safe, because a page must set Authorization itself:
// there are no cookies to misuse.
var (
	anyOrigin      = []string{"*"}
	exposedHeaders = []string{
		"X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, " +
			"X-Quota-Overage, Retry-After, Link, X-Next-Cursor, Location, ETag, Deprecation, Sunset, X-Stability, " +
			"Idempotent-Replayed, Preference-Applied, " +
			"X-Request-Id, WWW-Authenticate, Allow, Date, X-Ignored-Parameters, X-Key-Expires, " +
			"Accept, Accept-Encoding",
	}

	// requestHeaders are listed because * does not include Authorization. Libraries send some of
	// them by themselves: those of traces, X-Requested-With, and Cache-Control on a reload.
	requestHeaders = []string{
		"Authorization, Cache-Control, Content-Type, Idempotency-Key, If-Match, If-None-Match, Prefer, " +
			"traceparent, tracestate, X-Petstore-Simulate, X-Request-Id, X-Requested-With",
	}
	// preflightAge is how long a browser may cache the response to a preflight, in seconds:
	// Chromium's maximum.
	preflightAge = []string{"7200"}
)
