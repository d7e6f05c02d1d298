package api

import "petstore.example/internal/keys"

// route is what is known about an operation of the contract before a call.
type route struct {
	method string
	// path is the contract's path. It identifies the route in the log and in the metrics.
	path string
	// stability is empty for a stable operation.
	stability stability
	// stabilityHeader is the X-Stability of every response of an operation that is not stable.
	stabilityHeader []string
	// deprecated is set for an operation that will be removed.
	deprecated *deprecation
	// links is the Link of every response of a deprecated operation. help is the Link of an error,
	// by the number of its code.
	links []string
	help  [][]string
	// onlyTLS is the Strict-Transport-Security of responses that a browser may show, nil for none.
	onlyTLS []string
	// ignoresQuery is true for an operation without query parameters. Other operations look for
	// unknown parameters themselves.
	ignoresQuery bool
	// scope is the scope that a key must have. Public routes and pages need none.
	scope keys.Scope
	// selfScope is the scope that suffices for the request's own key, "" if scope is needed for it
	// too.
	selfScope keys.Scope
	// public routes need no key.
	public bool
	// sameOrigin routes may not be called by pages of other origins.
	sameOrigin bool
	// immutable routes always have the same response, so that it may be kept for a year.
	immutable bool
	// unmetered routes count in no window of the caller, and no window refuses them.
	unmetered bool
	// counts, if not nil, tells which queries of an unmetered route count nevertheless.
	counts func(rawQuery string) bool
	// changesKeys is true if the operation changes the tenant's keys or webhooks in a way that is
	// limited.
	// Revocations are not.
	changesKeys bool
	// writes is true if the operation, unless it fails, writes to the tenant's catalogue.
	writes bool
}

// stability says how much an operation may still change (docs/versioning.md).
type stability string

const (
	beta         stability = "beta"
	experimental stability = "experimental"
)

// unmatched is the path of requests that match no route, in the log and in the metrics.
const unmatched = "unmatched"
