package api

import (
	"net/http"
	"slices"
	"strings"

	"petstore.example/internal/keys"
)

// routes is the contract. Every GET also has HEAD, and every path OPTIONS.
var routes = []operation{
	{route{method: http.MethodGet, path: "/v1/pets", scope: keys.ScopeRead}, listPets},
	{route{
		method:       http.MethodPost,
		path:         "/v1/pets",
		writes:       true,
		ignoresQuery: true,
		scope:        keys.ScopeWrite,
	}, createPet},
	{route{
		method:       http.MethodGet,
		path:         "/v1/pets/{petId}",
		deprecated:   getPetRemoval,
		ignoresQuery: true,
		scope:        keys.ScopeRead,
	}, getPet},
	{route{
		method:       http.MethodPatch,
		path:         "/v1/pets/{petId}",
		writes:       true,
		stability:    beta,
		ignoresQuery: true,
		scope:        keys.ScopeWrite,
	}, changePet},
	{route{method: http.MethodGet, path: "/v1/store/orders", stability: beta, scope: keys.ScopeRead}, listOrders},
	{route{
		method:       http.MethodPost,
		path:         "/v1/store/orders",
		writes:       true,
		stability:    experimental,
		ignoresQuery: true,
		scope:        keys.ScopeWrite,
	}, placeOrder},
	{route{
		method:       http.MethodGet,
		path:         "/v1/store/orders/{orderId}",
		stability:    beta,
		ignoresQuery: true,
		scope:        keys.ScopeRead,
	}, getOrder},
	{route{
		method:       http.MethodPatch,
		path:         "/v1/store/orders/{orderId}",
		writes:       true,
		stability:    experimental,
		ignoresQuery: true,
		scope:        keys.ScopeWrite,
	}, changeOrder},
	{route{
		method:    http.MethodGet,
		path:      "/v1/usage",
		stability: beta,
		unmetered: true,
		counts:    asksForReport,
		scope:     keys.ScopeRead,
	}, getUsage},
	{route{
		method:    http.MethodGet,
		path:      "/v1/keys",
		stability: beta,
		unmetered: true,
		scope:     keys.ScopeManage,
	}, listKeys},
	{route{
		method:       http.MethodPost,
		path:         "/v1/keys",
		stability:    beta,
		unmetered:    true,
		changesKeys:  true,
		ignoresQuery: true,
		scope:        keys.ScopeManage,
	}, createKey},
	{route{
		method:       http.MethodGet,
		path:         "/v1/keys/{keyId}",
		stability:    beta,
		unmetered:    true,
		ignoresQuery: true,
		scope:        keys.ScopeManage,
		selfScope:    keys.ScopeRead,
	}, getKey},
	{route{
		method:       http.MethodPatch,
		path:         "/v1/keys/{keyId}",
		stability:    beta,
		unmetered:    true,
		changesKeys:  true,
		ignoresQuery: true,
		scope:        keys.ScopeManage,
	}, changeKey},
	{route{
		method:       http.MethodPost,
		path:         "/v1/keys/{keyId}/rotate",
		stability:    beta,
		unmetered:    true,
		changesKeys:  true,
		ignoresQuery: true,
		scope:        keys.ScopeManage,
		selfScope:    keys.ScopeRead,
	}, rotateKey},
	{route{
		method:    http.MethodPost,
		path:      "/v1/keys/{keyId}/revoke",
		stability: beta,
		unmetered: true,
		scope:     keys.ScopeManage,
		selfScope: keys.ScopeRead,
	}, revokeKey},
	webhookRoute(http.MethodGet, "", false, listWebhooks),
	webhookRoute(http.MethodPost, "", true, createWebhook),
	webhookRoute(http.MethodGet, "/{webhookId}", false, getWebhook),
	webhookRoute(http.MethodPatch, "/{webhookId}", true, changeWebhook),
	webhookRoute(http.MethodDelete, "/{webhookId}", true, deleteWebhook),
	webhookRoute(http.MethodPost, "/{webhookId}/rotate", true, rotateWebhook),
	webhookRoute(http.MethodPost, "/{webhookId}/test", true, testWebhook),
	webhookRoute(http.MethodPost, "/{webhookId}/deliveries/{deliveryId}/retry", true, retryDelivery),
	webhookRoute(http.MethodPost, "/{webhookId}/replay", true, replayWebhook),
	{route{
		method:    http.MethodGet,
		path:      "/v1/webhooks/{webhookId}/deliveries",
		stability: beta,
		unmetered: true,
		scope:     keys.ScopeManage,
	}, listDeliveries},
	{route{
		method:    http.MethodGet,
		path:      "/v1/requests",
		stability: beta,
		unmetered: true,
		scope:     keys.ScopeRead,
	}, listRequests},
	{route{
		method:       http.MethodGet,
		path:         "/v1/requests/{requestId}",
		stability:    beta,
		unmetered:    true,
		ignoresQuery: true,
		scope:        keys.ScopeRead,
	}, getRequest},
	{route{
		method:       http.MethodGet,
		path:         "/v1/plans",
		stability:    beta,
		public:       true,
		unmetered:    true,
		ignoresQuery: true,
	}, listPlans},
}

// webhookRoute is an operation below /v1/webhooks without query parameters.
func webhookRoute(method, path string, changes bool, handle handler) operation {
	return operation{route{
		method:       method,
		path:         "/v1/webhooks" + path,
		stability:    beta,
		unmetered:    true,
		changesKeys:  changes,
		ignoresQuery: true,
		scope:        keys.ScopeManage,
	}, handle}
}

// table returns the contract with its implied routes.
func table() []operation { return implied(routes) }

// implied returns the routes with their HEAD and OPTIONS.
func implied(routes []operation) []operation {
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
		all = append(all, operation{route{method: http.MethodOptions, path: path, public: true}, options(allowed)})
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
