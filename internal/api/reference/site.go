package reference

import (
	"embed"
	"errors"
	"net/url"
	"slices"
	"strings"
)

//go:embed assets templates
var files embed.FS

// scalar is not read from files, which would copy its 1.2 MB.
//
//go:embed assets/scalar.js.gz
var scalar []byte

// Site holds all pages of one deployment.
type Site struct{ Pages []*Page }

// New makes the pages of the API at baseURL, which must be absolute and end in /v1. openAPI is the document in YAML, written for
// a server at https://api.example.com.
func New(baseURL string, openAPI []byte) (*Site, error) {
	// A URL may contain an apostrophe, which would end a YAML string.
	baseURL = strings.ReplaceAll(baseURL, "'", "%27")
	base, err := url.Parse(baseURL)
	root, ok := strings.CutSuffix(baseURL, "/v1")
	if err != nil || !ok {
		return nil, errors.New("make pages: the base URL must end in /v1")
	}
	m := maker{root: root, origin: base.Scheme + "://" + base.Host, prefix: strings.TrimSuffix(base.EscapedPath(), "/v1")}
	return &Site{Pages: slices.Concat(m.document(openAPI), m.assets(), m.guides(), m.home())}, nil
}

// maker makes the pages.
type maker struct {
	// root is the base URL without its /v1; prefix is the path of root, usually empty.
	root, origin, prefix string
}

// The policies of the pages. Guides have no script. The script of the reference sets styles, so it needs inline styles, and it
// sends requests to the API, which may have another origin than the page.
const (
	guidePolicy     = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
		"font-src 'self' data:; connect-src 'self' %s; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

func underPolicy(policy string) [][2]string {
	return [][2]string{{"Content-Security-Policy", policy}, {"Referrer-Policy", "no-referrer"}, {"Cross-Origin-Opener-Policy", "same-origin"}}
}

func (m maker) assets() (pages []*Page) {
	for _, a := range []struct{ file, contentType string }{
		{"style.css", "text/css; charset=utf-8"},
		{"reference.js", "text/javascript; charset=utf-8"},
		{"icon.svg", "image/svg+xml"},
	} {
		read := func() ([]byte, error) { return files.ReadFile("assets/" + a.file) }
		pages = append(pages, newPage("/docs/assets/"+a.file, a.contentType, read))
	}
	return append(pages, newCompressedPage("/docs/assets/scalar.js", "text/javascript; charset=utf-8", scalar))
}
