package gate

import (
	"context"
	"net/http"

	"petstore.example/internal/api/problem"
)

// Pass finds the sender of a request, waits for a simulated delay, and counts the request. It
// returns an error if the request must not be served: the first that applies of a ban, a limit or a
// server that can't decide; a missing or invalid key; the scope; the limit of changes of keys.
// invalid is the 400 for a wrong X-Petstore-Simulate. All these errors take precedence over it.
func (g *Gate) Pass(ctx context.Context, r *Request, o *Outcome) (invalid *problem.Error, err error) {
	g.identify(ctx, r, o)
	o.Identified = g.Clock()
	if o.Caller != nil {
		invalid = g.simulate(ctx, r, o)
	}
	o.Admitting = g.Clock()
	err = g.admit(ctx, r, o)
	if o.refused {
		g.Meter.Refused(o.bucket, r.Now)
	}
	if err != nil {
		return nil, err
	}
	return invalid, g.allows(r, o)
}

// allows returns an error if the request's key is missing or invalid or has another scope, or if
// the tenant changes keys too often.
func (g *Gate) allows(r *Request, o *Outcome) error {
	if o.Refusal != nil &&
		(!r.Route.Public || o.Refusal.Code.Status != http.StatusUnauthorized &&
			o.Refusal.Code != problem.AddressNotAllowed) {
		return o.Refusal
	}
	if o.Caller != nil && !o.Caller.Access.May(r.Needs) {
		return scopeRefusal(o.Caller.Access.Scope(), r.Needs)
	}
	if r.Route.ChangesKeys {
		return g.takeKeyChange(r, o)
	}
	return nil
}

// admit decides whether the request is served. For a caller it checks the ban and then all windows
// at once, otherwise the address's bucket. OPTIONS is neither counted nor refused: a browser sends
// it first, and its page can read nothing before it succeeds, not even a 429. An unmetered route
// shows the caller's windows, counts in none and is refused by none. admit returns nil, the 429, or
// a 503 if nothing can be decided.
func (g *Gate) admit(ctx context.Context, r *Request, o *Outcome) error {
	if o.Caller != nil {
		if ban := o.Caller.Banned(r.Now); ban != nil {
			o.Simulated = nil
			return g.refuseBanned(r, o, ban)
		}
	}
	switch {
	case o.Simulated != nil:
		return g.admitSimulated(ctx, r, o)
	case o.Caller != nil:
	case o.addressCounted:
		return nil
	case r.Method == http.MethodOptions,
		// The key can't be looked up, so it may be a tenant's.
		o.Refusal != nil && o.Refusal.Code.Status >= http.StatusInternalServerError:
		o.ShowAddress(g.Addresses.Peek(r.Sender.Address(), r.Now))
		return nil
	default:
		return g.admitAddress(r, o)
	}
	if r.Route.Unmetered && (r.Route.Counts == nil || !r.Route.Counts(r.RawQuery)) {
		o.Decision = g.Limiter.Peek(ctx, Claim(o.Caller), r.Now)
		g.Meter.Used(o.bucket, r.Now)
		return nil
	}
	return g.take(ctx, r, o)
}
