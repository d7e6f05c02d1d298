package reference

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"time"

	"petstore.example/clients"
)

// files are the assets, and the pages that tools/docsite has made.
//
//go:embed assets/*.css assets/*.svg assets/account.js assets/guides.js assets/reference.js site
var files embed.FS

//go:embed assets/scalar.js.gz
var scalar []byte

// Site holds all pages of one deployment.
type Site struct {
	Pages []*Page
	// OtherNames has the guides' paths by other names, which the titles and files of the guides
	// suggest.
	OtherNames map[string]string

	deployment deployment
}

// New makes the pages of the API at baseURL, which must be absolute and end in /v1. openAPI is the
// document in YAML. Its example addresses are https://api.example.com for the server and
// https://support.example.org for the support.
func New(baseURL string, support Support, openAPI []byte) (*Site, error) {
	// A URL may contain an apostrophe, which would end a YAML string.
	baseURL = strings.ReplaceAll(baseURL, "'", "%27")
	base, err := url.Parse(baseURL)
	root, ok := strings.CutSuffix(baseURL, "/v1")
	if err != nil || !ok {
		return nil, errors.New("make pages: the base URL must end in /v1")
	}
	d := deployment{
		root:    root,
		support: support,
		origin:  base.Scheme + "://" + base.Host,
		prefix:  strings.TrimSuffix(base.EscapedPath(), "/v1"),
	}
	s := &Site{deployment: d, Pages: []*Page{
		d.page("/v1/openapi.yaml", ".yaml", func() ([]byte, error) { return openAPI, nil }),
		newDatedPage(
			"/.well-known/security.txt",
			contentTypes[".txt"],
			func(now time.Time) []byte { return securityText(support, root, now) },
		),
		newCompressedPage("/docs/assets/scalar.js", contentTypes[".js"], scalar),
	}}
	err = fs.WalkDir(files, ".", func(file string, e fs.DirEntry, err error) error {
		read := func() ([]byte, error) { return files.ReadFile(file) }
		switch name, kind := strings.TrimPrefix(file, "site"), path.Ext(file); {
		case err != nil, e.IsDir(), file == "site/404.html":
		case file == "site/other-names.json":
			text, _ := read()
			return json.Unmarshal(text, &s.OtherNames)
		case kind == ".html":
			s.Pages = append(s.Pages, d.page(strings.TrimSuffix(strings.TrimSuffix(name, kind), "index"), kind, read))
		case strings.HasPrefix(file, "assets/"):
			s.Pages = append(s.Pages, newPage("/docs/"+file, contentTypes[kind], read))
			if kind == ".svg" {
				// Browsers request this path for a page that names no icon, such as JSON.
				s.Pages = append(s.Pages, newPage("/favicon.ico", contentTypes[kind], read))
			}
		default:
			s.Pages = append(s.Pages, d.page(name, kind, read))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	packages, err := d.releases(clients.Released)
	s.Pages = append(s.Pages, packages...)
	return s, err
}

var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".md":   "text/markdown; charset=utf-8",
	".txt":  "text/plain; charset=utf-8",
	".json": "application/json",
	".yaml": "application/yaml",
	".atom": "application/atom+xml; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// deployment has the addresses that the pages name.
type deployment struct {
	// root is the base URL without its /v1. prefix is the path of root, usually empty.
	root, origin, prefix string
	support              Support
}

// page makes a page from a text, in which the deployment's addresses replace the example addresses.
// kind is the file's extension.
func (d deployment) page(at, kind string, read func() ([]byte, error)) *Page {
	var header [][2]string
	switch {
	case at == "/docs":
		header = underPolicy(fmt.Sprintf(referencePolicy, d.origin))
	case kind == ".html":
		header = underPolicy(guidePolicy)
	}
	return newPage(at, contentTypes[kind], func() ([]byte, error) {
		text, err := read()
		return []byte(d.in(string(text), kind)), err
	}, header...)
}

func (d deployment) in(text, kind string) string {
	m, escape := inMarkdown, asIs
	switch kind {
	case ".html", ".atom":
		m, escape = inHTML, html.EscapeString
	case ".json":
		m = inJSON
	}
	return strings.NewReplacer(
		exampleRoot,
		escape(d.root),
		"{{prefix}}",
		escape(d.prefix),
	).Replace(d.support.in(text, m))
}

// NotFound makes the page for an address that does not exist, and returns it with its headers.
// meant is the path that the reader probably meant, "" for none.
func (s *Site) NotFound(asked, meant string) (body []byte, header [][2]string, err error) {
	question := ""
	if meant != "" {
		question = fmt.Sprintf(
			` Did you mean <a href="%s"><code>%s</code></a>?`,
			html.EscapeString(s.deployment.prefix+meant),
			html.EscapeString(meant),
		)
	}
	text, err := files.ReadFile("site/404.html")
	page := s.deployment.in(string(text), ".html")
	page = strings.NewReplacer("{{asked}}", html.EscapeString(asked), "{{question}}", question).Replace(page)
	return []byte(page), append(underPolicy(guidePolicy), [2]string{"Content-Type", contentTypes[".html"]}), err
}

// The policies of the pages. The script of the guides loads the index of the search. The script of
// the reference needs inline styles, because it sets some, and it sends requests to the API, which
// may have another origin than the page.
const (
	guidePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'"
	referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' " +
		"data: blob:; " +
		"font-src 'self' data:; connect-src 'self' %s; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

func underPolicy(policy string) [][2]string {
	return [][2]string{
		{"Content-Security-Policy", policy},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
	}
}
