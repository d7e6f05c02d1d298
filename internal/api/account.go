package api

import (
	"bytes"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"petstore.example/internal/api/problem"
	"petstore.example/internal/usage"
)

// ReadFailedPage reads the query of GET /v1/requests for the pages. wrong is the message of the
// error that the operation would return, "" for none.
func ReadFailedPage(query url.Values, now time.Time) (page usage.FailedPage, wrong string) {
	page, _, err := readRequestsQuery(query, now, nil)
	if err != nil {
		wrong = problem.Of(err).Message
	}
	return page, wrong
}

// accountRoutes returns the routes of the pages, with HEAD and OPTIONS.
func (a *api) accountRoutes() (all []operation) {
	if a.Account == nil {
		return nil
	}
	for _, pattern := range a.Account.Routes() {
		method, path, _ := strings.Cut(pattern, " ")
		all = append(all, operation{route{method: method, path: path, public: true}, showAccount})
		if method == http.MethodGet {
			a.pages = append(a.pages, path)
		}
	}
	all = implied(all)
	for i := range all {
		all[i].sameOrigin = true
	}
	return all
}

func showAccount(a *api, x *exchange) error {
	r := x.Request.WithContext(x.Request.Context())
	if r.Method == http.MethodPost {
		data, err := readAll(a.bodies, x, maxForm)
		if err != nil && problem.Of(err).Code != problem.MissingBody {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
	}
	x.drainBody()
	r.RemoteAddr = netip.AddrPortFrom(x.Address(), 0).String()
	x.setHeaders(http.StatusOK) // All statuses of a page have the same headers. None is cached.
	a.Account.ServeHTTP(x.Writer, r)
	return nil
}
