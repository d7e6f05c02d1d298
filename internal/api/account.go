package api

import (
	"bytes"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"petstore.example/internal/usage"
)

// maxForm is the longest body of a form of the account, in bytes.
const maxForm = 16 << 10

// Account serves the pages of customers who sign in. Their requests count for the address. A body
// is read before, and RemoteAddr is the client's address, whatever proxies are between, with port
// 0.
type Account interface {
	http.Handler
	// Routes are its methods and paths, as "GET /account".
	Routes() []string
}

// FailedPage reads the query of GET /v1/requests for the pages. problem is the message of the error
// that the operation would return, "" for none.
func FailedPage(query url.Values, now time.Time) (page usage.FailedPage, problem string) {
	page, _, err := readRequestsQuery(query, now, nil)
	if err != nil {
		problem = toError(err).message
	}
	return page, problem
}

// accountRoutes returns the routes of the pages with their HEAD and OPTIONS.
func (a *api) accountRoutes() (all []route) {
	if a.Account == nil {
		return nil
	}
	for _, pattern := range a.Account.Routes() {
		method, path, _ := strings.Cut(pattern, " ")
		all = append(all, route{method: method, path: path, handle: showAccount, public: true})
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
		if err != nil && toError(err).code != codeMissingBody {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
	}
	x.drainBody()
	r.RemoteAddr = netip.AddrPortFrom(a.address(x), 0).String()
	x.setHeaders(http.StatusNoContent)
	a.Account.ServeHTTP(x.Writer, r)
	return nil
}
