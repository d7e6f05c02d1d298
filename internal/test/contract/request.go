package contract

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// allows returns nil if the document allows a request that succeeded, else the reason against it.
func (d *Document) allows(o *Operation, x Exchange) error {
	seen := fingerprint(x)
	if d.allowed.has(seen) {
		return nil
	}
	r := x.Request.Clone(context.WithoutCancel(x.Request.Context()))
	r.Body = io.NopCloser(bytes.NewReader(x.RequestBody))
	for _, values := range r.Header {
		for i, v := range values {
			// The white space around a value is not part of it (RFC 9110, section 5.5).
			values[i] = strings.Trim(v, " \t")
		}
	}
	path, _ := below(r)
	_, params := d.match(path)
	err := openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params,
		Route:   &routers.Route{Spec: d.spec, Path: o.Path, PathItem: o.item, Method: o.Method, Operation: o.operation},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	})
	if err != nil {
		return fmt.Errorf("%s succeeded although the document does not allow the request: %w", o.ID, err)
	}
	d.allowed.add(seen)
	return nil
}

// described are the request's headers that the document describes.
var described = []string{"Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Prefer"}

// fingerprint tells requests apart by everything that the document describes.
func fingerprint(x Exchange) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %d\n%s", x.Request.Method, x.Request.URL.RequestURI(), len(x.RequestBody), x.RequestBody)
	for _, name := range described {
		fmt.Fprintf(h, "%q", x.Request.Header[http.CanonicalHeaderKey(name)])
	}
	h.Sum(sum[:0])
	return sum
}

// memory holds digests of valid exchanges, because load tests repeat them and checking is slow.
type memory struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
}

// most is the maximum number of digests. At that number all are dropped.
const most = 10_000

func (m *memory) has(sum [sha256.Size]byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[sum]
}

func (m *memory) add(sum [sha256.Size]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= most {
		m.known = map[[sha256.Size]byte]bool{}
	}
	m.known[sum] = true
}
