// Package gate finds the sender of a request, and decides whether the request is served: by a ban,
// the limits of the caller or of its address, the key and its scope.
//
// A Request is what is known in advance: method, header, query, the facts of the route, the
// instant. Pass fills in an Outcome: the caller and its token, the refusal by its code, the
// limiter's decision, an announced write. Refund gives back a request that ends in 5xx. Limits of
// the Outcome are what a response shows of the limits.
//
// A server that can't decide admits nothing. If a key can't be looked up, the response is 503 and
// the request counts for its address. A Gate is safe for concurrent use; a Request and its Outcome
// belong to one request.
package gate
