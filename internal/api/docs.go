package api

import (
	_ "embed"
	"net/http"
	"strings"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/reference"
)

// openAPIText describes the API. It is the contract with authors of clients; package contract
// checks the server against it.
//
//go:embed openapi.yaml
var openAPIText []byte

// docsRoutes returns the routes of the documentation pages. They need no key, and have the headers
// of every response.
func docsRoutes(site *reference.Site) (all []operation) {
	for _, p := range site.Pages {
		isOperation := strings.HasPrefix(p.Path, "/v1/") // A page's address may have anything in its query.
		isIcon := p.Path == "/favicon.ico"               // Browsers request it by themselves; nobody else does.
		all = append(
			all,
			operation{route{
				method:       http.MethodGet,
				path:         p.Path,
				public:       true,
				ignoresQuery: isOperation,
				unmetered:    isIcon,
				immutable:    p.Immutable,
			}, showPage(p)},
		)
	}
	return all
}

func showPage(p *reference.Page) handler {
	return func(_ *api, x *exchange) error {
		v, err := p.For(x.Request.Header["Accept-Encoding"], x.asked.Now)
		if err != nil {
			return err
		}
		x.setPageHeaders(p.Header)
		x.set("ETag", v.ETag)
		if httpfield.NoneMatch(x.Request.Header["If-None-Match"], v.ETag) {
			x.write(http.StatusNotModified, nil)
			return nil
		}
		if v.Encoding != "" {
			x.set("Content-Encoding", v.Encoding)
		}
		x.set("Content-Type", p.ContentType)
		x.write(http.StatusOK, v.Body)
		return nil
	}
}

func (x *exchange) setPageHeaders(header [][2]string) {
	for _, h := range header {
		x.set(h[0], h[1])
	}
	// Browsers must not guess another content type.
	x.set("X-Content-Type-Options", "nosniff")
}
