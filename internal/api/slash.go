package api

import (
	"net/http"
	"strings"
)

// keepSlashes hands requests on so that a percent-coded slash in the path separates no segments (RFC 3986, section 2.2):
// /pets%2F1 is not /pets/1. Such a path is matched as it was written; others by what they stand for.
func keepSlashes(h http.Handler) http.Handler {
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
