package api

import "net/http"

// headers sets the headers of one response. All are in the http.Header, where middleware, test
// recorders and connections look for them.
type headers struct {
	http.Header
	// values has room for all values, so that each header needs no slice of its own.
	values []string
}

// headerRoom is the number of values allocated at once: as many as a list has.
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
	immutableYear   = []string{"public, max-age=31536000, immutable, no-transform"}
	varyAccept      = []string{"Accept"}
	gzipEncoding    = []string{"gzip"}
	// handlingStrict is the Preference-Applied of strict handling.
	handlingStrict = []string{"handling=strict"}

	// strictTransport is the Strict-Transport-Security (RFC 6797) by the scheme of the base URL: a
	// year for https.
	strictTransport = map[string][]string{"https": {"max-age=31536000"}}

	varyAcceptEncoding = []string{"Accept-Encoding"}
)
