package api

import "net/http"

// headers sets the headers of one response. All of them stand in the http.Header, where a
// middleware, a test recorder and every connection find the same.
type headers struct {
	http.Header
	// values has room for values, so that each does not need a slice of its own.
	values []string
}

// headerRoom is how many values are allocated at once: those of a list.
const headerRoom = 10

// set sets a header in exactly that spelling.
func (h *headers) set(name, value string) {
	n := len(h.values)
	if n == cap(h.values) {
		h.values, n = make([]string, 0, headerRoom), 0
	}
	h.values = append(h.values, value)
	h.Header[name] = h.values[n : n+1 : n+1]
}

// Values that never change.
var (
	applicationJSON = []string{"application/json"}
	noStore         = []string{"no-store"}
	privateNoCache  = []string{"private, no-cache"}
	varyAccept      = []string{"Accept"}
	gzipEncoding    = []string{"gzip"}

	// strictTransport is by the scheme of the base URL: a year (RFC 6797), or none.
	strictTransport = map[string][]string{"https": {"max-age=31536000"}}

	varyAcceptEncoding = []string{"Accept-Encoding"}
)
