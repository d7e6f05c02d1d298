package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"petstore.example/internal/keys"
)

// routes is the contract. Every GET also has HEAD, and every path OPTIONS.
var routes = []route{
	{method: http.MethodGet, path: "/v1/pets", handle: listPets, scope: keys.ScopeRead},
	{
		method:       http.MethodPost,
		path:         "/v1/pets",
		handle:       createPet,
		writes:       true,
		ignoresQuery: true,
		scope:        keys.ScopeWrite,
	},
	{
		method:       http.MethodGet,
		path:         "/v1/pets/{petId}",
		handle:       getPet,
		deprecated:   getPetRemoval,
		ignoresQuery: true,
		scope:        keys.ScopeRead,
	},
	{
		method:       http.MethodPatch,
		path:         "/v1/pets/{petId}",
		handle:       changePet,
		writes:       true,
		stability:    beta,
		ignoresQuery: true,
		scope:        keys.ScopeWrite,
	},
	{method: http.MethodGet, path: "/v1/store/orders", handle: listOrders, stability: beta, scope: keys.ScopeRead},
	{
		method:       http.MethodPost,
		path:         "/v1/store/orders",
		handle:       placeOrder,
		writes:       true,
		stability:    experimental,
		ignoresQuery: true,
		scope:        keys.ScopeWrite,
	},
	{
		method:       http.MethodGet,
		path:         "/v1/store/orders/{orderId}",
		handle:       getOrder,
		stability:    beta,
		ignoresQuery: true,
		scope:        keys.ScopeRead,
	},
	{
		method:       http.MethodPatch,
		path:         "/v1/store/orders/{orderId}",
		handle:       changeOrder,
		writes:       true,
		stability:    experimental,
		ignoresQuery: true,
		scope:        keys.ScopeWrite,
	},
	{
		method:    http.MethodGet,
		path:      "/v1/usage",
		handle:    getUsage,
		stability: beta,
		unmetered: true,
		counts:    asksForReport,
		scope:     keys.ScopeRead,
	},
	{
		method:    http.MethodGet,
		path:      "/v1/keys",
		handle:    listKeys,
		stability: beta,
		unmetered: true,
		scope:     keys.ScopeManage,
	},
	{
		method:       http.MethodPost,
		path:         "/v1/keys",
		handle:       createKey,
		stability:    beta,
		unmetered:    true,
		changesKeys:  true,
		ignoresQuery: true,
		scope:        keys.ScopeManage,
	},
	{
		method:       http.MethodGet,
		path:         "/v1/keys/{keyId}",
		handle:       getKey,
		stability:    beta,
		unmetered:    true,
		ignoresQuery: true,
		scope:        keys.ScopeManage,
		selfScope:    keys.ScopeRead,
	},
	{
		method:       http.MethodPatch,
		path:         "/v1/keys/{keyId}",
		handle:       changeKey,
		stability:    beta,
		unmetered:    true,
		changesKeys:  true,
		ignoresQuery: true,
		scope:        keys.ScopeManage,
	},
	{
		method:       http.MethodPost,
		path:         "/v1/keys/{keyId}/rotate",
		handle:       rotateKey,
		stability:    beta,
		unmetered:    true,
		changesKeys:  true,
		ignoresQuery: true,
		scope:        keys.ScopeManage,
		selfScope:    keys.ScopeRead,
	},
	{
		method:    http.MethodPost,
		path:      "/v1/keys/{keyId}/revoke",
		handle:    revokeKey,
		stability: beta,
		unmetered: true,
		scope:     keys.ScopeManage,
		selfScope: keys.ScopeRead,
	},
	{
		method:    http.MethodGet,
		path:      "/v1/requests",
		handle:    listRequests,
		stability: beta,
		unmetered: true,
		scope:     keys.ScopeRead,
	},
	{
		method:       http.MethodGet,
		path:         "/v1/requests/{requestId}",
		handle:       getRequest,
		stability:    beta,
		unmetered:    true,
		ignoresQuery: true,
		scope:        keys.ScopeRead,
	},
	{
		method:       http.MethodGet,
		path:         "/v1/plans",
		handle:       listPlans,
		stability:    beta,
		public:       true,
		unmetered:    true,
		ignoresQuery: true,
	},
}

// mount registers the table and the documentation pages. Methods are in alphabetical order, because
// Gin writes Allow in the order in which they were registered.
func (a *api) mount(e *gin.Engine, pages []route) {
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	all := append(append(table(), implied(pages)...), a.accountRoutes()...)
	slices.SortStableFunc(all, func(a, b route) int { return strings.Compare(a.method, b.method) })
	for _, r := range all {
		e.Handle(r.method, ginPath.Replace(r.path), a.serve(r))
	}
	e.NoRoute(a.serve(route{path: unmatched, handle: routeNotFound, public: true}))
	e.NoMethod(a.serve(route{path: unmatched, handle: methodNotAllowed, public: true}))
}

// table returns the contract with its implied routes.
func table() []route { return implied(routes) }

// implied returns the routes with their HEAD and OPTIONS.
func implied(routes []route) []route {
	all := slices.Clone(routes)
	methods := map[string][]string{}
	for _, r := range routes {
		methods[r.path] = append(methods[r.path], r.method)
		if r.method == http.MethodGet {
			r.method = http.MethodHead
			all = append(all, r)
			methods[r.path] = append(methods[r.path], r.method)
		}
	}
	for path, allowed := range methods {
		allowed = append(allowed, http.MethodOptions)
		slices.Sort(allowed)
		all = append(all, route{method: http.MethodOptions, path: path, handle: options(allowed), public: true})
	}
	return all
}

// options responds to OPTIONS with the methods of a path, and to preflight requests.
func options(allowed []string) handler {
	allow := []string{strings.Join(allowed, ", ")}
	return func(_ *api, x *exchange) error {
		h := x.headers.Header
		h["Allow"] = allow
		if !x.route.sameOrigin && len(x.Request.Header["Origin"]) > 0 &&
			len(x.Request.Header["Access-Control-Request-Method"]) > 0 {
			h["Access-Control-Allow-Methods"], h["Access-Control-Allow-Headers"], h["Access-Control-Max-Age"] = allow,
				requestHeaders, preflightAge
		}
		x.write(http.StatusNoContent, nil)
		return nil
	}
}

// methodNotAllowed responds 405. Gin has set Allow.
func methodNotAllowed(_ *api, x *exchange) error {
	return codeMethodNotAllowed.withMessage("This path supports only the methods " + x.headers.Get("Allow") + ".")
}

// ginPath turns {petId} into :petId.
var ginPath = strings.NewReplacer("{", ":", "}", "")
