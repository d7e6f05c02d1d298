package reference

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Page is one thing to serve, by GET and HEAD. It is safe for concurrent use.
type Page struct {
	// Path is below the prefix of the base URL, as the server sees it.
	Path        string
	ContentType string
	// Header holds what else the answer carries, as pairs of name and value.
	Header [][2]string

	plain      func() ([]byte, error)
	compressed []byte // gzip, nil for none
	tag        string
}

func newPage(path, contentType string, body []byte, header ...[2]string) *Page {
	return &Page{
		Path: path, ContentType: contentType, Header: header,
		plain: func() ([]byte, error) { return body, nil }, tag: tagOf(body),
	}
}

// newCompressedPage unpacks the body when the first client comes that can't.
func newCompressedPage(path, contentType string, compressed []byte, header ...[2]string) *Page {
	return &Page{
		Path: path, ContentType: contentType, Header: append(header, [2]string{"Vary", "Accept-Encoding"}),
		plain: sync.OnceValues(func() ([]byte, error) { return unpack(compressed) }), compressed: compressed, tag: tagOf(compressed),
	}
}

// Variant is a page as it is sent. Encoding is its Content-Encoding, empty for none; ETag is a strong one, in quotation
// marks.
type Variant struct {
	Body           []byte
	Encoding, ETag string
}

// For chooses the variant by the request's Accept-Encoding.
func (p *Page) For(acceptEncoding string) (Variant, error) {
	if p.compressed != nil && acceptsGzip(acceptEncoding) {
		return Variant{p.compressed, "gzip", `"` + p.tag + `-gzip"`}, nil
	}
	body, err := p.plain()
	return Variant{Body: body, ETag: `"` + p.tag + `"`}, err
}

// acceptsGzip reads the header of RFC 9110, section 12.5.3, as far as it speaks of gzip.
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

func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:])[:22]
}
