package reference

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"petstore.example/internal/api/httpfield"
)

// Page is a page or another file, served by GET and HEAD. It is safe for concurrent use.
type Page struct {
	// Path is the path that the server sees, below the prefix of the base URL.
	Path        string
	ContentType string
	// Header holds further headers, as pairs of name and value.
	Header [][2]string
	// Immutable pages never change, in no later version of the program either.
	Immutable bool

	// plain and gzipped make the variants at the first request, so that a server without readers
	// spends nothing on them.
	plain   func() (Variant, error)
	gzipped func() (Variant, error)
	// dated, if not nil, makes the page's only variant, anew for each request.
	dated func(now time.Time) []byte
}

// varies says that a page has two variants.
var varies = [2]string{"Vary", "Accept-Encoding"}

// newPage makes a page. render returns its body and is called once.
func newPage(at, contentType string, render func() ([]byte, error), header ...[2]string) *Page {
	p := &Page{Path: at, ContentType: contentType, Header: append(header, varies)}
	p.plain = sync.OnceValues(func() (Variant, error) {
		body, err := render()
		return Variant{Body: body, ETag: httpfield.ETag(body)}, err
	})
	p.gzipped = sync.OnceValues(func() (Variant, error) {
		v, err := p.plain()
		if err != nil || len(v.Body) <= minGzip {
			return v, err
		}
		body, err := pack(v.Body)
		return Variant{Body: body, Encoding: "gzip", ETag: httpfield.WeakETag(v.ETag)}, err
	})
	return p
}

// newFile makes an immutable page of a file of a package. It is not compressed, because programs
// compare its bytes with a digest, and a proxy must not do that either (no-transform).
func newFile(at string, read func() ([]byte, error)) *Page {
	p := &Page{Path: at, ContentType: "application/octet-stream", Immutable: true}
	if known, ok := fileTypes[path.Ext(at)]; ok {
		p.ContentType = known
	}
	p.plain = sync.OnceValues(func() (Variant, error) {
		body, err := read()
		return Variant{Body: body, ETag: httpfield.ETag(body)}, err
	})
	p.gzipped = p.plain
	return p
}

var fileTypes = map[string]string{
	".tgz":  "application/gzip",
	".zip":  "application/zip",
	".mod":  "text/plain; charset=utf-8",
	".info": "application/json",
}

// newDatedPage makes a short page whose body depends on the time.
func newDatedPage(at, contentType string, render func(now time.Time) []byte) *Page {
	return &Page{Path: at, ContentType: contentType, dated: render}
}

// newCompressedPage makes a page from a body in gzip, which is decompressed for clients that don't
// accept gzip.
func newCompressedPage(at, contentType string, compressed []byte, header ...[2]string) *Page {
	tag := sync.OnceValue(func() string { return httpfield.ETag(compressed) })
	return &Page{
		Path: at, ContentType: contentType, Header: append(header, varies),
		plain: sync.OnceValues(func() (Variant, error) {
			body, err := unpack(compressed)
			return Variant{Body: body, ETag: tag()}, err
		}),
		gzipped: func() (Variant, error) {
			return Variant{Body: compressed, Encoding: "gzip", ETag: httpfield.WeakETag(tag())}, nil
		},
	}
}

// minGzip is the longest body, in bytes, that is not compressed: with its headers it fits into one
// packet.
const minGzip = 1 << 10

// Variant is a representation of a page. Encoding is its Content-Encoding, empty for none. The ETag
// of the unencoded page is strong, that of the compressed one is the weak form of the same tag.
type Variant struct {
	Body           []byte
	Encoding, ETag string
}

// For returns the variant that fits the request's Accept-Encoding.
func (p *Page) For(acceptEncoding []string, now time.Time) (Variant, error) {
	if p.dated != nil {
		body := p.dated(now)
		return Variant{Body: body, ETag: httpfield.ETag(body)}, nil
	}
	if httpfield.AcceptsGzip(acceptEncoding) {
		return p.gzipped()
	}
	return p.plain()
}

func pack(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(body)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("pack page: %w", err)
	}
	return b.Bytes(), nil
}

func unpack(compressed []byte) ([]byte, error) {
	var body []byte
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err == nil {
		body, err = io.ReadAll(r)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack page: %w", err)
	}
	return body, nil
}
