package api

import (
	_ "embed"
	"net/http"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/reference"
)

// openAPIText describes the API. It is the contract with authors of clients; package contract checks the server against it.
//
//go:embed openapi.yaml
var openAPIText []byte

// docsRoutes returns the routes of the documentation pages. They need no key, and carry the headers of every answer.
func docsRoutes(baseURL string) ([]route, error) {
	site, err := reference.New(baseURL, openAPIText)
	if err != nil {
		return nil, err
	}
	var all []route
	for _, p := range site.Pages {
		all = append(all, route{method: http.MethodGet, path: p.Path, handle: showPage(p), public: true})
	}
	return all, nil
}

func showPage(p *reference.Page) handler {
	return func(_ *api, x *exchange) error {
		v, err := p.For(x.Request.Header.Get("Accept-Encoding"))
		if err != nil {
			return err
		}
		for _, h := range p.Header {
			x.set(h[0], h[1])
		}
		// Browsers must not guess another content type.
		x.set("X-Content-Type-Options", "nosniff")
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
