package api

import (
	"fmt"
	"net/http"

	"petstore.example/internal/api/httpfield"
	"petstore.example/internal/api/jsonbody"
)

// entryPoint is the response of GET /v1/: where the API begins.
type entryPoint struct {
	Documentation string `json:"documentation"`
	OpenAPI       string `json:"openapi"`
	Pets          string `json:"pets"`
	Orders        string `json:"orders"`
	Usage         string `json:"usage"`
	Keys          string `json:"keys"`
	Webhooks      string `json:"webhooks"`
	Requests      string `json:"requests"`
}

// entryRoutes returns the routes of the base URL, with and without a slash at its end. They need no
// key and are not counted.
func (a *api) entryRoutes() ([]operation, error) {
	body, err := jsonbody.Marshal(&entryPoint{
		Documentation: a.root + "/docs", OpenAPI: a.BaseURL + "/openapi.json", Pets: a.petsURL, Orders: a.ordersURL,
		Usage: a.BaseURL + "/usage", Keys: a.keysURL,
		Webhooks: a.webhooksURL, Requests: a.requestsURL,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the addresses: %w", err)
	}
	show := func(a *api, x *exchange) error {
		x.headers.Header["Vary"] = varyAccept
		if httpfield.PrefersHTML(x.Request.Header["Accept"]) {
			x.redirect(http.StatusSeeOther, a.prefix+"/docs")
			return nil
		}
		x.write(http.StatusOK, body)
		return nil
	}
	var all []operation
	for _, path := range []string{"/v1", "/v1/"} {
		all = append(
			all,
			operation{
				route{method: http.MethodGet, path: path, public: true, unmetered: true, ignoresQuery: true}, show,
			},
		)
	}
	return all, nil
}
