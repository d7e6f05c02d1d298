package api

import (
	"net/http"
	"strings"
)

// matchRawPath makes a percent-encoded slash in a path separate no segments (RFC 3986, section
// 2.2): /pets%2F1 is not /pets/1. A path with such a slash is matched as it was sent, any other
// path after decoding.
func matchRawPath(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if raw := r.URL.RawPath; strings.Contains(raw, "%2F") || strings.Contains(raw, "%2f") {
			r = r.WithContext(r.Context())
			written := *r.URL
			written.Path = raw
			r.URL = &written
		}
		h.ServeHTTP(w, r)
	})
}
