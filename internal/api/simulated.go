package api

import (
	"slices"
	"strings"

	"petstore.example/internal/api/jsonbody"
	"petstore.example/internal/api/problem"
)

// simulatedError returns err, which the client asked for, in the form of a real error.
func (a *api) simulatedError(x *exchange, err error) error {
	switch x.Simulated {
	case problem.RouteNotFound:
		return routeNotFound(a, x)
	case problem.MethodNotAllowed:
		x.set("Allow", strings.Join(slices.Sorted(slices.Values(a.methods[x.route.path])), ", "))
		return methodNotAllowed(a, x)
	case problem.EndpointRemoved:
		return a.simulatedRemoval(x)
	case problem.BodyTooLarge:
		return x.tooLarge(jsonbody.MaxBytes)
	case problem.UnsupportedMediaType:
		x.set("Accept", "application/json")
	}
	return err
}

// simulatedRemoval returns the 410 of the operation if its removal was announced, otherwise the 410
// of GET /v1/pets/{petId}, whose removal was announced.
func (a *api) simulatedRemoval(x *exchange) error {
	if x.route.deprecated == nil {
		removed := *x.route
		removed.deprecated = getPetRemoval
		a.announce(&removed)
		x.route = &removed
		x.setRouteHeaders()
	}
	return x.route.deprecated.gone()
}
