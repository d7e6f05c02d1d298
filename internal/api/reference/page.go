package reference

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"petstore.example/internal/api/httpfield"
)

// Page is a page or another file that is served by GET and HEAD. It is safe for concurrent use.
type Page struct {
	// Path is the path that the server sees, below the prefix of the base URL.
	Path        string
	ContentType string
	// Header holds further headers, as pairs of name and value.
	Header [][2]string

	// Both are made at the first request, so that a server without readers spends nothing on them.
	plain   func() (Variant, error)
	gzipped func() (Variant, error) // nil for none
}

// newPage makes a page whose body render returns. It is called once.
func newPage(path, contentType string, render func() ([]byte, error), header ...[2]string) *Page {
	return &Page{Path: path, ContentType: contentType, Header: header, plain: sync.OnceValues(func() (Variant, error) {
		body, err := render()
		return Variant{Body: body, ETag: httpfield.ETag(body)}, err
	})}
}

// newCompressedPage makes a page with a gzip body, which is decompressed for clients that don't accept gzip.
func newCompressedPage(path, contentType string, compressed []byte, header ...[2]string) *Page {
	p := newPage(path, contentType, func() ([]byte, error) { return unpack(compressed) },
		append(header, [2]string{"Vary", "Accept-Encoding"})...)
	p.gzipped = sync.OnceValues(func() (Variant, error) {
		return Variant{Body: compressed, Encoding: "gzip", ETag: httpfield.ETag(compressed)}, nil
	})
	return p
}

// Variant is a representation of a page. Encoding is its Content-Encoding, empty for none; ETag is strong and in double quotes.
type Variant struct {
	Body           []byte
	Encoding, ETag string
}

// For selects the variant for the request's Accept-Encoding.
func (p *Page) For(acceptEncoding string) (Variant, error) {
	if p.gzipped != nil && acceptsGzip(acceptEncoding) {
		return p.gzipped()
	}
	return p.plain()
}

// acceptsGzip reports whether Accept-Encoding (RFC 9110, section 12.5.3) names gzip.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		_, weight, found := strings.Cut(params, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		return !found || err == nil && q > 0
	}
	return false
}

func unpack(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("unpack page: %w", err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack page: %w", err)
	}
	return body, nil
}
