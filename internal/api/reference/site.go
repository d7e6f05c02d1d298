package reference

import (
	"embed"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"sync"
)

//go:embed assets templates
var files embed.FS

// scalar is not read from files, which would copy its 1.2 MB.
//
//go:embed assets/scalar.js.gz
var scalar []byte

// Site holds all pages of one deployment.
type Site struct {
	Pages []*Page
	// OtherNames are the paths of guides by the paths that their files and their titles suggest, where these differ.
	OtherNames map[string]string

	maker maker
}

// New makes the pages of the API at baseURL, which must be absolute and end in /v1. openAPI is the document in YAML, written for
// a server at https://api.example.com and a support at https://support.example.org.
func New(baseURL string, support Support, openAPI []byte) (*Site, error) {
	// A URL may contain an apostrophe, which would end a YAML string.
	baseURL = strings.ReplaceAll(baseURL, "'", "%27")
	base, err := url.Parse(baseURL)
	root, ok := strings.CutSuffix(baseURL, "/v1")
	if err != nil || !ok {
		return nil, errors.New("make pages: the base URL must end in /v1")
	}
	m := maker{root: root, support: support, origin: base.Scheme + "://" + base.Host, prefix: strings.TrimSuffix(base.EscapedPath(), "/v1")}
	document := sync.OnceValue(func() []byte { return support.in(openAPI) })
	pages := slices.Concat(m.document(document), m.assets(), m.guides(), m.home(), m.forPrograms(), []*Page{m.searchIndex(document)})
	return &Site{Pages: pages, OtherNames: otherNames(), maker: m}, nil
}

// NotFound makes the page for an address that does not exist, and returns it with its headers. meant is a path that may be meant, "" for none.
func (s *Site) NotFound(asked, meant string) (body []byte, header [][2]string, err error) {
	m, question := s.maker, ""
	if meant != "" {
		question = fmt.Sprintf(` Did you mean <a href="%s"><code>%s</code></a>?`, html.EscapeString(m.prefix+meant), html.EscapeString(meant))
	}
	body, err = m.render(layout{
		title: titleOf("Not found"), templates: []string{"layout.html", "guide.html"}, body: fmt.Sprintf(
			"<h1>There is no such page</h1>\n<p><code>%s</code> does not exist.%s</p>\n<p><a class=\"action\" href=\"%s/docs\">Open the reference</a></p>\n"+
				"<h2>Guides</h2>\n<dl>%s\n</dl>", html.EscapeString(asked), question, html.EscapeString(m.prefix), m.listOfGuides()),
	})
	return body, append(underPolicy(guidePolicy), [2]string{"Content-Type", htmlType}), err
}

// maker makes the pages.
type maker struct {
	// root is the base URL without its /v1; prefix is the path of root, usually empty.
	root, origin, prefix string
	support              Support
}

// The policies of the pages. The script of the guides loads the index of the search. The script of the reference sets styles, so it needs
// inline styles, and it sends requests to the API, which may have another origin than the page.
const (
	guidePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'"
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
		{"guides.js", "text/javascript; charset=utf-8"},
		{"icon.svg", "image/svg+xml"},
	} {
		read := func() ([]byte, error) { return files.ReadFile("assets/" + a.file) }
		pages = append(pages, newPage("/docs/assets/"+a.file, a.contentType, read))
	}
	// Browsers ask for this one where a page names none: JSON, for example.
	icon := func() ([]byte, error) { return files.ReadFile("assets/icon.svg") }
	return append(pages, newPage("/favicon.ico", "image/svg+xml", icon), newCompressedPage("/docs/assets/scalar.js", "text/javascript; charset=utf-8", scalar))
}
